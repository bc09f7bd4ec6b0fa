"""The check against protobuf's own parser: what passes parses, and what the parser refuses is found, all of it."""

import copy

from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.jobs.message import check_form
from overnight.vertex_local.messages import new_custom_job, parse_custom_job

JOB = {
    "displayName": "weekly",
    "labels": {"team": "vision"},
    "jobSpec": {
        "workerPoolSpecs": [
            {"replicaCount": "1", "machineSpec": {"machineType": "n1", "acceleratorType": "NVIDIA_L4"}},
            {},
            {"containerSpec": {"command": ["python"], "env": [{"name": "A", "value": "1"}]}},
        ],
        "scheduling": {"timeout": "60s", "disableRetries": False, "strategy": "SPOT"},
    },
}

VALUES = st.one_of(
    st.text(max_size=5),
    st.integers(-3, 2**70),
    st.floats(allow_nan=False),
    st.booleans(),
    st.lists(st.text(max_size=3), max_size=2),
    st.dictionaries(st.text(max_size=5), st.text(max_size=3), max_size=2),
)


def places(value, path=()):
    """Every place in the JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@settings(max_examples=200, deadline=None)
@given(place=st.sampled_from(list(places(JOB))), value=VALUES)
def test_what_passes_the_check_parses_and_nothing_the_parser_refuses_passes(place, value):
    job = copy.deepcopy(JOB)
    target = job
    for part in place[:-1]:
        target = target[part]
    target[place[-1]] = value
    form = check_form(job, new_custom_job().DESCRIPTOR)
    problem = next(iter(form.findings), None)
    try:
        parse_custom_job(job)
    except (json_format.ParseError, OverflowError):  # the parser's own slip: an infinite number for an enum
        assert problem is not None
    if problem is not None:
        assert problem.path[: len(place)] == place
    parse_custom_job(form.data)


@settings(max_examples=50, deadline=None)
@given(place=st.sampled_from([place for place in places(JOB) if isinstance(place[-1], str)]), letter=st.integers(0, 5))
def test_a_misspelt_field_is_found_where_it_stands(place, letter):
    if "labels" in place[:-1]:
        return  # label names are the user's own
    job = copy.deepcopy(JOB)
    target = job
    for part in place[:-1]:
        target = target[part]
    name = place[-1]
    misspelt = name[:letter] + "_" + name[letter:]
    target[misspelt] = target.pop(name)
    form = check_form(job, new_custom_job().DESCRIPTOR)
    problem = form.findings[0]
    assert problem.path == (*place[:-1], misspelt)
    assert repr(name) in problem.remedy


def test_every_wrong_field_is_found_and_the_rest_is_kept():
    job = {
        "displayNam": "weekly",
        "jobSpec": {
            "workerPoolSpecs": [{"replicaCount": "one"}, [], {"replicaCount": 2, "diskSpec": None}],
            "scheduling": {"timeout": "1h", "disableRetries": "yes", "strategy": "SPOT"},
        },
    }
    form = check_form(job, new_custom_job().DESCRIPTOR)
    assert [".".join(map(str, finding.path)) for finding in form.findings] == [
        "displayNam",
        "jobSpec.workerPoolSpecs.0.replicaCount",
        "jobSpec.workerPoolSpecs.1",
        "jobSpec.workerPoolSpecs.2.diskSpec",
        "jobSpec.scheduling.timeout",
        "jobSpec.scheduling.disableRetries",
    ]
    assert form.data == {
        "jobSpec": {"workerPoolSpecs": [{}, {}, {"replicaCount": 2}], "scheduling": {"strategy": "SPOT"}}
    }
