"""Schedules of a running server, whose clock the tests move."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions
from google.protobuf.field_mask_pb2 import FieldMask

from vertex_studies import PARENT, Vertex, until

SPEC = json.loads((Path(__file__).parents[1] / "pipelines" / "specs" / "loop.json").read_text())
QUICK = {"pipeline_spec": SPEC, "runtime_config": {"parameter_values": {"rates": []}}}
WEEK = 7 * 24 * 3600


def busy() -> dict[str, Any]:
    """A pipeline that runs until it is cancelled."""
    spec = json.loads(json.dumps(SPEC))
    spec["deploymentSpec"]["executors"]["exec-add"]["container"]["command"] = ["sh", "-c", "exec sleep 60"]
    return {"pipeline_spec": spec, "runtime_config": {"parameter_values": {"rates": []}}}


@pytest.fixture
def vertex(tmp_path):
    vertex = Vertex.start(tmp_path / "vertex")
    yield vertex
    vertex.stop()


def message(job: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    job = json.loads(json.dumps(job or QUICK))
    job["display_name"] = "run"
    job["runtime_config"]["gcs_output_directory"] = "gs://runs/root"
    return {
        "display_name": "weekly",
        "cron": "TZ=Europe/Paris 0 20 * * 5",
        "max_concurrent_run_count": 1,
        "create_pipeline_job_request": {"parent": PARENT, "pipeline_job": job},
        **changes,
    }


def create(vertex: Vertex, schedule: dict[str, Any]) -> Any:
    return vertex.schedules.create_schedule(parent=PARENT, schedule=schedule)


def get(vertex: Vertex, name: str) -> Any:
    return vertex.schedules.get_schedule(name=name)


def runs(vertex: Vertex, name: str) -> list[Any]:
    return list(vertex.pipelines.list_pipeline_jobs(request={"parent": PARENT, "filter": f"schedule_name={name}"}))


def advance(vertex: Vertex, seconds: float) -> None:
    vertex.server.world.clock.advance(seconds)
    vertex.server.world.wake()


def now(vertex: Vertex) -> datetime:
    return vertex.server.world.clock.now()


def settle(vertex: Vertex) -> None:
    """Let the server look at its schedules at least once more."""
    ticks = 0
    service_clock = vertex.server.world.clock.now

    def counted() -> Any:
        nonlocal ticks
        ticks += 1
        return service_clock()

    vertex.server.world.clock.now = counted
    until(lambda: ticks > 3)
    vertex.server.world.clock.now = service_clock


def test_a_schedule_fires_twice_in_two_weeks(vertex: Vertex) -> None:
    name = create(vertex, message()).name
    first = get(vertex, name).next_run_time
    assert (first.weekday(), first.astimezone(UTC) > now(vertex)) == (4, True)
    for count in (1, 2):
        advance(vertex, WEEK)
        until(lambda count=count: get(vertex, name).started_run_count == count)
    schedule = get(vertex, name)
    assert schedule.state.name == "ACTIVE"
    assert schedule.last_scheduled_run_response.run_response == "OK"
    assert schedule.last_scheduled_run_response.scheduled_run_time.timestamp() == first.timestamp() + WEEK
    assert schedule.next_run_time.timestamp() == first.timestamp() + 2 * WEEK
    until(lambda: [run.state.name for run in runs(vertex, name)] == ["PIPELINE_STATE_SUCCEEDED"] * 2)


def test_a_schedule_completes_after_its_last_run_and_goes_on_when_it_may_have_more(vertex: Vertex) -> None:
    name = create(vertex, message(max_run_count=1)).name
    advance(vertex, 3 * WEEK)
    until(lambda: get(vertex, name).state.name == "COMPLETED")
    assert len(runs(vertex, name)) == 1
    with pytest.raises(exceptions.FailedPrecondition, match="COMPLETED"):
        vertex.schedules.resume_schedule(name=name)
    with pytest.raises(exceptions.FailedPrecondition, match="COMPLETED"):
        vertex.schedules.pause_schedule(name=name)
    schedule = get(vertex, name)
    schedule.max_run_count = 2
    vertex.schedules.update_schedule(schedule=schedule, update_mask=FieldMask(paths=["max_run_count"]))
    assert get(vertex, name).state.name == "ACTIVE"
    advance(vertex, WEEK)
    until(lambda: get(vertex, name).state.name == "COMPLETED")
    assert len(runs(vertex, name)) == 2


def test_a_schedule_completes_at_its_end(vertex: Vertex) -> None:
    name = create(vertex, message(end_time=now(vertex) + timedelta(seconds=WEEK))).name
    advance(vertex, 4 * WEEK)
    until(lambda: get(vertex, name).state.name == "COMPLETED")
    assert len(runs(vertex, name)) == 1


@pytest.mark.parametrize(("catch_up", "made_up"), [(False, 0), (True, 3)])
def test_a_paused_schedule_starts_nothing_and_catches_up_when_asked(
    vertex: Vertex, catch_up: bool, made_up: int
) -> None:
    name = create(vertex, message()).name
    vertex.schedules.pause_schedule(name=name)
    advance(vertex, 3 * WEEK)
    settle(vertex)
    assert get(vertex, name).started_run_count == 0
    vertex.schedules.resume_schedule(name=name, catch_up=catch_up)
    until(lambda: get(vertex, name).started_run_count == made_up)
    schedule = get(vertex, name)
    assert (schedule.state.name, schedule.catch_up) == ("ACTIVE", catch_up)
    assert schedule.last_pause_time < schedule.last_resume_time
    until(lambda: get(vertex, name).next_run_time.timestamp() > now(vertex).timestamp())


def test_a_run_without_room_is_skipped(vertex: Vertex) -> None:
    name = create(vertex, message(busy(), max_concurrent_active_run_count=1)).name
    advance(vertex, 3 * WEEK)
    until(lambda: get(vertex, name).next_run_time.timestamp() > now(vertex).timestamp())
    assert get(vertex, name).started_run_count == 1
    until(lambda: [run.state.name for run in runs(vertex, name)] == ["PIPELINE_STATE_RUNNING"])


def test_with_queueing_a_run_waits_for_room(vertex: Vertex) -> None:
    schedule = message(busy(), max_concurrent_active_run_count=1, allow_queueing=True)
    name = create(vertex, schedule).name
    advance(vertex, 2 * WEEK)
    until(lambda: get(vertex, name).next_run_time.timestamp() > now(vertex).timestamp())
    until(lambda: [run.state.name for run in runs(vertex, name)] == ["PIPELINE_STATE_RUNNING"])
    (run,) = runs(vertex, name)
    vertex.pipelines.cancel_pipeline_job(name=run.name)
    until(lambda: get(vertex, name).started_run_count == 2)
    assert [started.state.name for started in runs(vertex, name)].count("PIPELINE_STATE_RUNNING") <= 1


def test_an_update_changes_when_the_next_run_comes(vertex: Vertex) -> None:
    schedule = create(vertex, message())
    schedule.cron = "TZ=Europe/Paris 0 20 * * 1"
    schedule.display_name = "not in the mask"
    vertex.schedules.update_schedule(schedule=schedule, update_mask=FieldMask(paths=["cron"]))
    changed = get(vertex, schedule.name)
    assert (changed.next_run_time.weekday(), changed.display_name) == (0, "weekly")
    schedule.cron = "never"
    with pytest.raises(exceptions.InvalidArgument, match="five fields"):
        vertex.schedules.update_schedule(schedule=schedule, update_mask=FieldMask(paths=["cron"]))
    assert get(vertex, schedule.name) == changed


def test_a_run_that_cannot_start_says_why(tmp_path: Path) -> None:
    home = tmp_path / "templates" / "p" / "pipelines" / "sweep"
    home.mkdir(parents=True)
    (home / "v1.json").write_text(json.dumps(SPEC))
    vertex = Vertex.start(tmp_path / "vertex", templates=tmp_path / "templates")
    try:
        uri = "https://europe-west4-kfp.pkg.dev/p/pipelines/sweep/v1"
        job = {"template_uri": uri, "runtime_config": {"parameter_values": {"rates": []}}}
        name = create(vertex, message(job)).name
        (home / "v1.json").unlink()
        advance(vertex, WEEK)
        until(lambda: get(vertex, name).started_run_count == 1)
        assert get(vertex, name).last_scheduled_run_response.run_response == f"The resource {uri} does not exist."
    finally:
        vertex.stop()


def test_what_was_due_while_no_server_ran_is_missed(tmp_path: Path) -> None:
    vertex = Vertex.start(tmp_path / "vertex")
    name = create(vertex, message()).name
    vertex.server.world.clock.advance(0)
    world = vertex.server.world
    offset = world.store.note("clock", "offset seconds", 0.0)
    world.store.set_note("clock", "offset seconds", offset + 3 * WEEK)
    vertex.stop()
    vertex = Vertex.start(tmp_path / "vertex")
    try:
        settle(vertex)
        schedule = get(vertex, name)
        assert schedule.started_run_count == 0
        assert schedule.next_run_time.timestamp() > now(vertex).timestamp()
    finally:
        vertex.stop()


def test_a_deleted_schedule_is_gone_and_its_runs_stay(vertex: Vertex) -> None:
    name = create(vertex, message()).name
    advance(vertex, WEEK)
    until(lambda: len(runs(vertex, name)) == 1)
    vertex.schedules.delete_schedule(name=name).result(timeout=5)
    assert list(vertex.schedules.list_schedules(parent=PARENT)) == []
    assert len(runs(vertex, name)) == 1


def with_request(**changes: Any) -> dict[str, Any]:
    schedule = message()
    schedule["create_pipeline_job_request"].update(changes)
    return schedule


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        (message(display_name=""), "display_name"),
        (message(max_concurrent_run_count=0), "max_concurrent_run_count"),
        (message(cron="TZ=Europe/Atlantis 0 0 * * *"), "IANA"),
        (message(cron=""), "five fields"),
        (message(end_time=datetime(2020, 1, 1, tzinfo=UTC)), "end_time"),
        (message(create_pipeline_job_request=None), "a request is required"),
        (with_request(parent=""), "parent"),
        (with_request(pipeline_job_id="weekly-1"), "pipeline_job_id"),
        (with_request(pipeline_job={}), "gcs_output_directory"),
    ],
)
def test_a_schedule_that_cannot_run_is_refused(vertex: Vertex, schedule: dict[str, Any], says: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=says):
        create(vertex, schedule)


def test_notebooks_cannot_be_scheduled(vertex: Vertex) -> None:
    schedule = message()
    del schedule["create_pipeline_job_request"]
    schedule["create_notebook_execution_job_request"] = {"parent": PARENT, "notebook_execution_job": {}}
    with pytest.raises(exceptions.MethodNotImplemented):
        create(vertex, schedule)
