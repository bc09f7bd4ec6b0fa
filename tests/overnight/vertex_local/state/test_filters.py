from datetime import UTC, datetime

import pytest
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api.errors import ApiError
from overnight.vertex_local.state.filters import predicate

JOB = v1.CustomJob.pb(
    v1.CustomJob(
        name="projects/1/locations/here/customJobs/5",
        display_name="weekly_run",
        state="JOB_STATE_RUNNING",
        labels={"team": "vision", "a key": "x"},
        create_time=datetime(2026, 11, 30, 12, tzinfo=UTC),
        job_spec={"enable_web_access": True},
    )
)
ARTIFACT = v1.Artifact.pb(
    v1.Artifact(
        uri="gs://b/x", metadata={"lr": 0.5, "good": True, "a:b": "c"}, state="LIVE", schema_title="system.Model"
    )
)
CONTEXT = v1.Context.pb(v1.Context(parent_contexts=["projects/1/x", "projects/1/y"]))


@pytest.mark.parametrize(
    "text",
    [
        "",
        'display_name="weekly_run"',
        "display_name = weekly_run",
        'displayName="weekly_run"',
        'display_name:"weekly_*"',
        'display_name!="daily"',
        'state="JOB_STATE_RUNNING"',
        "state=3",
        'labels.team="vision"',
        "labels.team:*",
        "labels:team",
        'labels."a key"=x',
        'NOT labels.team="sound"',
        "NOT end_time:*",
        "create_time:*",
        'create_time>"2026-11-30T00:00:00Z"',
        'create_time<="2026-11-30T13:00:00+01:00"',
        'state="JOB_STATE_FAILED" OR display_name="weekly_run"',
        'state!="JOB_STATE_FAILED" AND labels.team="vision"',
        'display_name="weekly_run" labels.team="vision"',
        "create_time <= 2026-11-30T13:00:00+01:00 AND create_time > 2026-11-30T11:59:59.5Z",
        '(state="JOB_STATE_FAILED" OR state="JOB_STATE_RUNNING") AND NOT (labels:none)',
        # OR binds tighter than AND.
        'display_name="weekly_run" OR state="x" AND labels:team',
        "job_spec.enable_web_access=true",
        'labels.none!="x"',
    ],
)
def test_a_job_passes(text):
    assert predicate(text)(JOB)


@pytest.mark.parametrize(
    "text",
    [
        'display_name="weekly"',
        'display_name:"daily*"',
        'display_name:"weekly?run"',
        'state="JOB_STATE_FAILED"',
        'labels.team="Vision"',
        "labels.none:*",
        'labels.none="x"',
        "end_time:*",
        'end_time<"2030-01-01T00:00:00Z"',
        'create_time<"2026-11-30T12:00:00Z"',
        'NOT display_name="weekly_run"',
        'display_name="weekly_run" AND state="x" OR labels:none',
    ],
)
def test_a_job_does_not_pass(text):
    assert not predicate(text)(JOB)


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("metadata.lr.number_value = 0.5", True),
        ("metadata.lr.number_value > 0.5", False),
        ("metadata.good.bool_value = true", True),
        ('metadata."a:b".string_value = "c"', True),
        ('metadata.none.string_value = "c"', False),
        ('uri="gs://b/x" AND schema_title="system.Model" AND state="LIVE"', True),
    ],
)
def test_metadata_is_reached_by_field_and_type(text, passes):
    assert predicate(text)(ARTIFACT) is passes


def test_a_list_is_asked_for_its_members():
    assert predicate('parent_contexts:"projects/1/y"')(CONTEXT)
    assert not predicate('parent_contexts:"projects/1/z"')(CONTEXT)


def test_functions_and_fields_may_come_from_the_service():
    extras = {"in_context": lambda message, name: name == "here", "model": lambda message: message.name[-1]}
    assert predicate('in_context("here") AND model=5', extras)(JOB)
    assert not predicate('in_context("there")', extras)(JOB)


@pytest.mark.parametrize(
    "text",
    [
        "display_name",
        "display_name=",
        '="x"',
        'display_name="x" AND',
        '(display_name="x"',
        'display_name="x")',
        'display_name="x',
        "nothing=1",
        "labels.team.deep=1",
        'create_time>"yesterday"',
        "in_nothing(1)",
        "(" * 200 + "state=3" + ")" * 200,
        "job_spec=1",
    ],
)
def test_a_filter_that_cannot_be_understood_is_refused(text):
    with pytest.raises(ApiError):
        predicate(text)(JOB)
