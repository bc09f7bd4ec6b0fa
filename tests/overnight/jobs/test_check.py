"""Judging files: lines, fallbacks, folders, the kinds of specs, and that nothing in a spec can break the check."""

import copy
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from overnight.config import load
from overnight.config.names import Names
from overnight.jobs.check import Report, check, check_file, specs_in
from overnight.jobs.context import Context, context_of
from overnight.jobs.document import Document, dotted
from overnight.jobs.errors import SpecError

ROOT = Path(__file__).parents[3]
TODAY = date(2026, 11, 30)
ENVIRONMENT = load(ROOT / "config" / "example.yaml")
EXAMPLE = context_of(ENVIRONMENT, TODAY)
SHIPPED = sorted((ROOT / "jobs").glob("*.yaml"))
BASES = YAML(typ="safe", pure=True).load((Path(__file__).parent / "corpus" / "bases.yaml").read_text())
SOUND = {name: json.loads(json.dumps(spec)) for name, spec in BASES.items() if name != "parts"}


def judged(data: dict[str, Any], context: Context = EXAMPLE) -> Report:
    return check(Document(Path("job.yaml"), data, {}), context)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_specs_are_sound_in_the_example_environment(path: Path) -> None:
    found = [finding.rule for finding in check_file(path, EXAMPLE).findings]
    assert found == (["prebuilt-end"] if path.stem == "python-package" else [])


def test_there_is_a_shipped_spec_for_every_way_to_train() -> None:
    assert {path.stem for path in SHIPPED} == {
        "cpu-sklearn",
        "flex-start-h100",
        "local",
        "multi-node-reduction-server",
        "persistent-resource",
        "python-package",
        "single-gpu",
        "tf-multiworker",
        "tf-parameter-server",
        "tpu-v5e-jax",
        "tuning",
        "weekly-a100-spot",
    }


def test_a_finding_points_at_the_line_of_its_field(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    text = (ROOT / "jobs" / "weekly-a100-spot.yaml").read_text()
    path.write_text(text.replace("replicaCount: 1\n", "replicaCount: 2\n", 1).replace("SPOT", "SPOTT"))
    report = check_file(path, EXAMPLE)
    lines = path.read_text().splitlines()
    assert {lines[report.line(finding) - 1].strip() for finding in report.findings} == {
        "- replicaCount: 2",
        "strategy: SPOTT",
    }
    assert [report.line(finding) for finding in report.findings] == sorted(
        report.line(finding) for finding in report.findings
    )


def test_a_file_that_is_no_spec_is_one_finding(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("a: [")
    report = check_file(path, EXAMPLE)
    assert [finding.rule for finding in report.findings] == ["not-a-spec"]
    assert report.errors == 1
    assert check_file(tmp_path / "none.yaml", EXAMPLE).findings[0].message == "there is no such job spec"


def test_a_folder_stands_for_its_yaml_files(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("b.yaml", "a.yaml", "notes.txt", "inner/c.yaml"):
        (tmp_path / name).write_text("x: 1\n")
    assert specs_in([tmp_path, tmp_path / "notes.txt"]) == [
        tmp_path / "a.yaml",
        tmp_path / "b.yaml",
        tmp_path / "notes.txt",
    ]
    (tmp_path / "empty").mkdir()
    with pytest.raises(SpecError, match=r"no \*.yaml file here"):
        specs_in([tmp_path / "empty"])


def test_a_spec_without_a_machine_is_for_this_machine() -> None:
    local = judged(SOUND["local"])
    assert not local.for_the_cloud
    assert local.findings == ()
    with_machine = copy.deepcopy(SOUND["local"])
    with_machine["customJob"]["jobSpec"]["workerPoolSpecs"][0]["machineSpec"] = {"machineType": "n2-standard-8"}
    found = judged(with_machine)
    assert found.for_the_cloud
    assert {finding.rule for finding in found.findings} == {
        "image-missing",
        "account-missing",
        "output-missing",
        "key-missing",
    }


def test_what_is_unknown_is_not_checked() -> None:
    nowhere = Context(today=TODAY)
    for name in ("single", "workers", "persistent", "tpu"):
        assert judged(SOUND[name], nowhere).findings == (), name


def test_a_finding_of_the_job_is_not_told_again_of_each_fallback() -> None:
    spec = copy.deepcopy(SOUND["workers"])
    del spec["customJob"]["jobSpec"]["serviceAccount"]
    spec["overnight"]["fallbacks"] = [{"strategy": "SPOT"}, {"region": "us-central1", "strategy": "FLEX_START"}]
    assert [finding.rule for finding in judged(spec).findings] == ["account-missing"]


def test_a_fallback_replaces_the_machine_of_the_workers_and_leaves_the_reducers() -> None:
    spec = copy.deepcopy(SOUND["reduction"])
    l4 = {"machineType": "g2-standard-96", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 8}
    spec["overnight"]["fallbacks"] = [{"machineSpec": l4}]
    assert judged(spec).findings == ()
    spec["overnight"]["fallbacks"][0]["machineSpec"] = {**l4, "acceleratorCount": 7}
    assert [dotted(finding.path) for finding in judged(spec).findings] == [
        "overnight.fallbacks[0].machineSpec.acceleratorCount"
    ]


def test_the_context_names_things_as_the_stacks_do() -> None:
    google = ENVIRONMENT.google
    assert google is not None
    names = Names(environment=ENVIRONMENT.environment, google=google)
    assert EXAMPLE.kms_key == names.key("training")
    assert EXAMPLE.registry == names.repository_path("images")
    assert EXAMPLE.buckets == tuple(names.bucket(item) for item in ("data", "shards", "staging", "models", "logs"))


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("workers", [("custom_model_training_nvidia_a100_gpus", 4)]),
        ("reduction", [("custom_model_training_nvidia_a100_gpus", 64), ("custom_model_training_cpus", 400)]),
        ("flex", [("custom_model_training_preemptible_nvidia_h100_gpus", 16)]),
        ("tuning", [("custom_model_training_nvidia_t4_gpus", 5), ("custom_model_training_cpus", 40)]),
        ("cpu", [("custom_model_training_n2_cpus", 16)]),
        ("persistent", []),
        ("local", []),
    ],
)
def test_quotas_are_counted_over_replicas_and_parallel_trials(base: str, expected: list[tuple[str, int]]) -> None:
    quotas = [quota for quota in judged(SOUND[base]).quotas if not quota.note]
    assert [(quota.metric.removeprefix("aiplatform.googleapis.com/"), quota.amount) for quota in quotas] == expected


def test_a_metric_without_a_published_name_says_so() -> None:
    quota = judged(SOUND["tpu"]).quotas[0]
    assert quota.amount == 4
    assert "no name is published" in quota.note


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, item in items for found in [(*path, key), *places(item, (*path, key))]]


def at(data: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        data = data[part]
    return data


SPECS = {**SOUND, **{path.stem: json.loads(json.dumps(YAML(typ="safe").load(path.read_text()))) for path in SHIPPED}}


@pytest.mark.parametrize("name", SPECS)
def test_any_field_may_be_missing(name: str) -> None:
    for place in places(SPECS[name]):
        spec = copy.deepcopy(SPECS[name])
        del at(spec, place[:-1])[place[-1]]
        report = judged(spec)
        for finding in report.findings:
            assert finding.message, place
            assert finding.remedy, place


VALUES = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.integers(-3, 2**70),
    st.floats(),
    st.booleans(),
    st.lists(st.one_of(st.text(max_size=3), st.none(), st.integers()), max_size=2),
    st.dictionaries(st.text(max_size=5), st.text(max_size=3), max_size=2),
)


@settings(max_examples=300, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(SPECS)), value=VALUES)
def test_any_value_may_stand_anywhere(data: st.DataObject, name: str, value: Any) -> None:
    place = data.draw(st.sampled_from(places(SPECS[name])))
    spec = copy.deepcopy(SPECS[name])
    at(spec, place[:-1])[place[-1]] = value
    assert all(finding.message and finding.remedy for finding in judged(spec).findings)
