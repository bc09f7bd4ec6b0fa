"""Watching jobs of the local Vertex AI to every kind of end, and what they wrote."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from time import sleep

import pytest

from job_support import FALLBACKS, SNAPSHOT, Time, planned, spec_file
from overnight.errors import OvernightError
from overnight.jobs.client import Job, Refused, VertexJobs
from overnight.jobs.endpoint import parse_endpoint
from overnight.jobs.errors import RunFailed
from overnight.jobs.fallback import Budgets
from overnight.jobs.job_logs import CloudLogs, LogLine, NoLogs, QuietLogs, logs_of, request_body
from overnight.jobs.submission import Submission, read_submission, submit
from overnight.jobs.watching import EXIT_CODES, Look, Run, follow, watch, watch_run
from overnight.vertex_local.engine.stockouts import Stockout
from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings

NUMBERS = count(1)
NONE = Stockout(4, machine_type="n1-standard-8")
"""The service itself tries three times again."""


def served(folder: Path, **more) -> Server:
    fast = {"retry_seconds": 0.01, "in_place_restarts": 0, "job_restarts": 0, "grace_seconds": 2.0}
    return Server(folder, Settings(project="acme-vision-prod", project_number="481516234207", **fast, **more))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with served(tmp_path_factory.mktemp("vertex")) as running:
        yield running


@pytest.fixture
def jobs(server: Server) -> VertexJobs:
    return VertexJobs(parse_endpoint(server.rest_url))


def now() -> datetime:
    return datetime.now(UTC)


def started(jobs: VertexJobs, folder: Path, code: str, more: str = "") -> Submission:
    run_id = f"20261130-200000-{next(NUMBERS):08x}"
    time = Time()
    plan = planned(spec_file(folder, code, more), run_id=run_id)
    return submit(plan, jobs, folder / "run", time.clock, time.sleep, Budgets())


def seen(name: str, jobs: VertexJobs, logs=NoLogs()) -> tuple[Job, list[Look]]:  # noqa: B008 (keeps nothing)
    looks: list[Look] = []
    return watch(name, jobs, logs, now, sleep, looks.append, 0.02), looks


def test_a_job_that_succeeds_is_followed_through_its_states(jobs, tmp_path):
    end, looks = seen(started(jobs, tmp_path, "import time; time.sleep(0.3)").job, jobs)
    assert end.state == "SUCCEEDED"
    assert end.error == ""
    states = [look.job.state for look in looks if look.changed]
    assert states[-2:] == ["RUNNING", "SUCCEEDED"]
    assert states == [state for state in ("QUEUED", "PENDING", "RUNNING", "SUCCEEDED") if state in states]
    assert end.created <= end.started <= end.ended
    assert looks[-1].since == end.ended


def test_a_job_that_fails_says_why(jobs, tmp_path):
    end, _ = seen(started(jobs, tmp_path, "raise SystemExit(3)").job, jobs)
    assert end.state == "FAILED"
    assert "workerpool0-0 exited with a non-zero status of 3" in end.error


def test_a_job_that_is_cancelled_ends_as_cancelled(jobs, tmp_path):
    name = started(jobs, tmp_path, "import time; time.sleep(60)").job
    for look in follow(name, jobs, NoLogs(), now, sleep, 0.02):
        if look.job.state == "RUNNING" and look.changed:
            jobs.cancel(name)
    assert look.job.state == "CANCELLED"


def test_every_end_has_an_exit_code_of_its_meaning():
    assert EXIT_CODES == {"SUCCEEDED": 0, "FAILED": 2, "EXPIRED": 2, "PARTIALLY_SUCCEEDED": 3, "CANCELLED": 130}


def test_what_a_job_wrote_comes_once_and_in_order(jobs, server, tmp_path):
    name = started(jobs, tmp_path, "import time; [(print(i, flush=True), time.sleep(0.01)) for i in range(30)]").job
    _, looks = seen(name, jobs, logs_of(parse_endpoint(server.rest_url), "acme-vision-prod"))
    lines = [line for look in looks for line in look.lines if line.replica == "workerpool0-0"]
    assert [line.text for line in lines] == [str(number) for number in range(30)]
    assert [line.time for line in lines] == sorted(line.time for line in lines)


def test_a_log_longer_than_a_page_is_read_whole(jobs, server, tmp_path):
    name = started(jobs, tmp_path, "print(*range(2500), sep=chr(10))").job
    end, _ = seen(name, jobs)
    logs = logs_of(parse_endpoint(server.rest_url), "acme-vision-prod")
    texts = [line.text for line in logs.new(end) if line.replica == "workerpool0-0"]
    assert texts == [str(number) for number in range(2500)]
    assert list(logs.new(end)) == []


def test_a_filter_that_is_not_understood_is_refused_by_the_local_log(server):
    import requests

    answer = requests.post(f"{server.rest_url}/v2/entries:list", json={"filter": "severity>ERROR OR x"}, timeout=10)
    assert answer.status_code == 400
    assert "The filter is not valid" in answer.json()["error"]["message"]


def test_errors_alone_can_be_asked_for(jobs, server, tmp_path):
    import requests

    end, _ = seen(started(jobs, tmp_path, "import sys; print(1); print(2, file=sys.stderr)").job, jobs)
    body = request_body("acme-vision-prod", end.id)
    body["filter"] += ' AND severity="ERROR" AND resource.labels.task_name="workerpool0-0"'
    entries = requests.post(f"{server.rest_url}/v2/entries:list", json=body, timeout=10).json()["entries"]
    assert [entry["jsonPayload"] for entry in entries] == [{"message": "2"}]


def test_a_log_that_cannot_be_read_does_not_end_the_watching(jobs, tmp_path):
    import requests

    told: list[str] = []
    broken = CloudLogs("http://127.0.0.1:1", requests.Session(), "acme-vision-prod")
    end, _ = seen(started(jobs, tmp_path, "print(1)").job, jobs, QuietLogs(broken, told.append))
    assert end.state == "SUCCEEDED"
    assert len(told) == 1
    with pytest.raises(OvernightError, match="the log cannot be read"):
        list(broken.new(end))


def test_a_local_grpc_address_has_no_log(server):
    assert isinstance(logs_of(parse_endpoint(server.grpc_address), "p"), NoLogs)


def test_the_log_lines_of_google_are_understood():
    from overnight.jobs.job_logs import line_of

    resource = {"type": "ml_job", "labels": {"task_name": "workerpool1-2"}}
    entry = {"timestamp": "2026-11-30T20:00:00Z", "severity": "INFO", "resource": resource}
    expected = LogLine("2026-11-30T20:00:00Z", "INFO", "workerpool1-2", "step 1")
    assert line_of({**entry, "jsonPayload": {"message": "step 1\n"}}) == expected
    assert line_of({**entry, "textPayload": "step 1"}) == expected


class Flaky:
    """A connection that is lost for the first `times` looks."""

    def __init__(self, jobs: VertexJobs, times: int, code: str = "UNAVAILABLE") -> None:
        self._jobs, self._times, self._code = jobs, times, code

    def get(self, name: str) -> Job:
        self._times -= 1
        if self._times >= 0:
            raise Refused(self._code, "lost")
        return self._jobs.get(name)


def test_a_lost_connection_is_waited_for(jobs, tmp_path):
    name = started(jobs, tmp_path, "print(1)").job
    seen(name, jobs)
    time = Time()
    looks = list(follow(name, Flaky(jobs, 3), NoLogs(), time.clock, time.sleep))
    assert [look.job.state for look in looks] == ["SUCCEEDED"]
    assert time.naps == [10.0] * 3


@pytest.mark.parametrize(("times", "code", "naps"), [(1, "PERMISSION_DENIED", 0), (99, "UNAVAILABLE", 30)])
def test_but_not_for_ever_nor_for_what_does_not_pass(times, code, naps, jobs):
    time = Time()
    with pytest.raises(Refused):
        list(follow("projects/p/locations/r/customJobs/1", Flaky(jobs, times, code), NoLogs(), time.clock, time.sleep))
    assert len(time.naps) == naps


def test_a_run_goes_on_with_its_fallback_when_there_are_no_machines(tmp_path):
    with served(tmp_path / "vertex", stockouts=(NONE,)) as server:
        jobs = VertexJobs(parse_endpoint(server.grpc_address))
        submission = started(jobs, tmp_path, "print(1)", FALLBACKS)
        names: list[str] = []
        run = Run(submission, tmp_path / "run", Budgets())
        end = watch_run(run, jobs, NoLogs(), now, sleep, lambda look: names.append(look.job.name), 0.02)
        assert end.state == "SUCCEEDED"
        kept = read_submission(tmp_path / "run")
        assert [(item.fallback, item.kind) for item in kept.tries] == [(0, "stockout"), (1, None)]
        assert list(dict.fromkeys(names)) == [item.job for item in kept.tries]
        machine = server.world.store.get(end.name).job_spec.worker_pool_specs[0].machine_spec
        assert machine.machine_type == "g2-standard-8"


def test_a_run_whose_code_fails_is_not_moved_elsewhere(jobs, tmp_path):
    submission = started(jobs, tmp_path, "raise SystemExit(3)", FALLBACKS)
    with pytest.raises(RunFailed, match="the budget for failing code is 0"):
        watch_run(Run(submission, tmp_path / "run", Budgets()), jobs, NoLogs(), now, sleep, lambda look: None, 0.02)
    (only,) = read_submission(tmp_path / "run").tries
    assert only.kind == "code"


def test_a_budget_for_code_starts_the_same_again_in_the_same_folder(jobs, server, tmp_path):
    submission = started(jobs, tmp_path, "raise SystemExit(3)", FALLBACKS)
    run = Run(submission, tmp_path / "run", Budgets(code=1))
    with pytest.raises(RunFailed, match="the budget for failing code is 1"):
        watch_run(run, jobs, NoLogs(), now, sleep, lambda look: None, 0.02)
    tries = read_submission(tmp_path / "run").tries
    assert [(item.fallback, item.retry) for item in tries] == [(0, 0), (0, 1)]
    specs = [server.world.store.get(item.job).job_spec for item in tries]
    assert specs[0] == specs[1]  # output folder and all: it goes on from its checkpoint


def test_the_program_finds_its_snapshot_and_its_place_by_what_was_filled_in(tmp_path):
    buckets = tmp_path / "vertex" / "gcs"
    snapshot = buckets / "acme-vision-prod-example-shards" / "snapshots" / SNAPSHOT
    snapshot.mkdir(parents=True)
    (snapshot / "manifest.json").write_text("of the snapshot")
    code = "import os, pathlib; p = pathlib.Path; e = os.environ; "
    code += "out = p(e['AIP_MODEL_DIR']); out.mkdir(parents=True); "
    code += "(out / e['OVERNIGHT_RUN_ID']).write_text(p(e['OVERNIGHT_SNAPSHOT'], 'manifest.json').read_text())"
    with served(tmp_path / "vertex", paths="local") as server:
        jobs = VertexJobs(parse_endpoint(server.rest_url))
        submission = started(jobs, tmp_path, code)
        end, _ = seen(submission.job, jobs)
        assert (end.state, end.error) == ("SUCCEEDED", "")
    run = submission.run_id
    written = buckets / "acme-vision-prod-example-staging" / "runs" / run / "model" / run
    assert written.read_text() == "of the snapshot"
