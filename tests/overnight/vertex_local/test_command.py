import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.command import NotLocal, container_command, expand

PRIMARY = ReplicaName(0, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y2"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$$(A)", "$(A)"),
        ("$A ${A} $(A", "$A ${A} $(A"),
        ("$(A B)", "$(A B)"),
        ("$()", "$()"),
        ("", ""),
    ],
)
def test_references_expand_as_on_vertex_ai(text, expected):
    assert expand(text, {"A": "1", "B": "2"}) == expected


@given(st.text(), st.dictionaries(st.sampled_from(["A", "B"]), st.text()))
def test_an_escaped_reference_is_never_expanded(text, variables):
    assert expand("$$(A)", variables) == "$(A)"
    if "$(" not in text:
        assert expand(text, variables) == text


def test_values_are_not_expanded_a_second_time():
    assert expand("$(A)", {"A": "$(B)", "B": "2"}) == "$(B)"


def test_a_variable_may_name_an_earlier_one_and_what_vertex_ai_sets(job):
    message = job(("pass", 1), arguments=("--out=$(OUT)",))
    container = message.job_spec.worker_pool_specs[0].container_spec
    container.env.add(name="OUT", value="$(AIP_MODEL_DIR)final")
    container.env.add(name="LATE", value="$(OUT)/x")
    command = container_command(message, PRIMARY, {"AIP_MODEL_DIR": "/runs/m/"})
    assert command.arguments[-1] == "--out=/runs/m/final"
    assert command.environment["LATE"] == "/runs/m/final/x"


@pytest.mark.parametrize("name", ["python", "python3", "python3.11"])
def test_python_is_this_python(name, job):
    message = job(("pass", 1))
    message.job_spec.worker_pool_specs[0].container_spec.command[0] = name
    assert container_command(message, PRIMARY, {}).arguments[0] == sys.executable


def test_nothing_of_this_machines_environment_leaks_in(job, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("TZ", "UTC")
    environment = container_command(job(("pass", 1)), PRIMARY, {}).environment
    assert "AWS_SECRET_ACCESS_KEY" not in environment
    assert environment["TZ"] == "UTC"


def test_a_process_is_not_told_that_it_runs_in_an_image(job):
    message = job(("pass", 1), arguments=("--image=$(OVERNIGHT_IMAGE)",))
    message.job_spec.worker_pool_specs[0].container_spec.env.add(name="OVERNIGHT_IMAGE", value="host/a@sha256:0a")
    command = container_command(message, PRIMARY, {})
    assert command.arguments[-1] == "--image=host/a@sha256:0a"
    assert "OVERNIGHT_IMAGE" not in command.environment


def test_a_job_that_needs_its_images_entry_point_cannot_run_here(job):
    message = job(("pass", 1))
    message.job_spec.worker_pool_specs[0].container_spec.ClearField("command")
    with pytest.raises(NotLocal, match="there is no image here"):
        container_command(message, PRIMARY, {})


def test_a_python_package_cannot_run_here(job):
    message = job(("pass", 1))
    message.job_spec.worker_pool_specs[0].python_package_spec.python_module = "trainer"
    with pytest.raises(NotLocal, match="executor image"):
        container_command(message, PRIMARY, {})
