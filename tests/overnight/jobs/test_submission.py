"""Submitting against the local Vertex AI, over gRPC and REST; nothing stands in for the service but the service."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import grpc
import pytest
from google.cloud import aiplatform_v1
from google.cloud.aiplatform_v1.services.persistent_resource_service.transports import (
    PersistentResourceServiceGrpcTransport,
)
from google.protobuf import json_format

from job_support import FALLBACKS, KEY, Time, planned, spec_file
from overnight.errors import OvernightError
from overnight.files import read_json
from overnight.jobs.client import Refused, VertexJobs, parts
from overnight.jobs.endpoint import parse_endpoint
from overnight.jobs.errors import RunFailed
from overnight.jobs.fallback import Budgets
from overnight.jobs.submission import RunConflict, read_submission, submit
from overnight.vertex_local.engine.stockouts import Stockout
from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings

NUMBERS = count(1)


def a_run() -> str:
    """A run id that no test has used."""
    return f"20261130-200000-{next(NUMBERS):08x}"


STANDARD_TRIES = 4
"""A stock-out is tried three times again by the service itself."""


def settings(**more) -> Settings:
    return Settings(project="acme-vision-prod", project_number="481516234207", retry_seconds=0.01, **more)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("vertex"), settings()) as running:
        yield running


@pytest.fixture(params=["rest", "grpc"])
def jobs(request: pytest.FixtureRequest, server: Server) -> VertexJobs:
    return VertexJobs(parse_endpoint(server.rest_url if request.param == "rest" else server.grpc_address))


def send(plan, jobs, folder, budgets=Budgets()):  # noqa: B008 (frozen)
    time = Time()
    return submit(plan, jobs, folder, time.clock, time.sleep, budgets), time


def of_run(server: Server, run_id: str) -> list:
    client = VertexJobs(parse_endpoint(server.rest_url))
    return client.all("projects/acme-vision-prod/locations/us-central1", f'labels.overnight-run="{run_id}"')


def stored(server: Server, name: str) -> dict:
    """What the service keeps of a job, without what it adds."""
    found = server.world.store.get(name)
    kept = aiplatform_v1.CustomJob.pb()()
    for field in ("job_spec", "encryption_spec"):
        getattr(kept, field).CopyFrom(getattr(found, field))
    kept.display_name = found.display_name
    kept.labels.update(found.labels)
    return json_format.MessageToDict(kept)


def test_the_service_gets_the_request_that_was_rendered(jobs, server, tmp_path):
    plan = planned(spec_file(tmp_path), run_id=a_run())
    submission, time = send(plan, jobs, tmp_path / "run")
    assert stored(server, submission.job) == plan.requests[0].job
    assert parts(submission.job) == ("customJob", "us-central1")
    assert time.naps == []


def test_a_second_submission_starts_nothing(jobs, server, tmp_path):
    plan = planned(spec_file(tmp_path, f"print({next(NUMBERS)})"))
    first, _ = send(plan, jobs, tmp_path / "run")
    again, _ = send(plan, jobs, tmp_path / "run")
    elsewhere, _ = send(plan, jobs, tmp_path / "another machine")
    assert first.job == again.job == elsewhere.job
    assert len(of_run(server, plan.run_id)) == 1


def test_another_run_of_the_same_spec_is_another_job(jobs, tmp_path):
    path = spec_file(tmp_path, f"print({next(NUMBERS)}, 'twice')")
    first, _ = send(planned(path), jobs, tmp_path / "1")
    other, _ = send(planned(path, run_id=a_run()), jobs, tmp_path / "2")
    assert first.job != other.job


def test_another_spec_under_the_same_run_id_is_refused_here_and_elsewhere(jobs, server, tmp_path):
    run_id = a_run()
    send(planned(spec_file(tmp_path, "print(1)"), run_id=run_id), jobs, tmp_path / "run")
    changed = planned(spec_file(tmp_path, "print(2)"), run_id=run_id)
    for folder in (tmp_path / "run", tmp_path / "another machine"):
        with pytest.raises(RunConflict, match="another spec"):
            send(changed, jobs, folder)
    assert len(of_run(server, run_id)) == 1


def test_the_record_says_all_that_may_be_sent_and_what_was(jobs, tmp_path):
    plan = planned(spec_file(tmp_path, f"print({next(NUMBERS)}, 'record')", FALLBACKS))
    submission, _ = send(plan, jobs, tmp_path / "run")
    record = read_json(tmp_path / "run" / "submission.json", "overnight.submission/1")
    assert [entry["request"] for entry in record["requests"]] == [request.body for request in plan.requests]
    assert record["job"] == submission.job
    assert record["tries"] == [
        {"fallback": 0, "retry": 0, "time": "2026-11-30T20:00:00Z", "job": submission.job, "kind": None, "said": ""}
    ]
    assert read_submission(tmp_path / "run") == submission


def warm_spec(folder) -> Path:
    """A job on a persistent resource that the environment file names, and the service may not know yet."""
    path = spec_file(folder, f"print({next(NUMBERS)})", "  fallbacks: [{strategy: SPOT}]\n")
    machine = "{machineType: a2-highgpu-1g, acceleratorType: NVIDIA_TESLA_A100, acceleratorCount: 1}\n"
    text = re.sub(r"\{machineType.*\n", machine + "        diskSpec: {bootDiskSizeGb: 500}\n", path.read_text())
    path.write_text(text.replace("  jobSpec:\n", "  jobSpec:\n    persistentResourceId: night-a100-v1\n"))
    return path


def test_a_configuration_error_is_told_and_not_tried_again_until_it_is_corrected(tmp_path):
    with Server(tmp_path / "vertex", settings(provision_seconds=0.01)) as server:
        jobs = VertexJobs(parse_endpoint(server.rest_url))
        plan = planned(warm_spec(tmp_path))
        with pytest.raises(RunFailed, match="NOT_FOUND") as failed:
            send(plan, jobs, tmp_path / "run")
        assert "configured wrongly" in failed.value.problem
        assert of_run(server, plan.run_id) == []
        (only,) = read_submission(tmp_path / "run").tries
        assert (only.kind, only.job, only.fallback) == ("configuration", None, 0)
        make_persistent_resource(server, plan.requests[0])
        submission, _ = send(plan, jobs, tmp_path / "run")
        assert stored(server, submission.job) == plan.requests[0].job


def make_persistent_resource(server: Server, request) -> None:
    """What `persistent_resources` of the environment has Terraform make."""
    pool = request.message.custom_job.job_spec.worker_pool_specs[0]
    resource = aiplatform_v1.PersistentResource(
        resource_pools=[{"machine_spec": pool.machine_spec, "disk_spec": pool.disk_spec, "replica_count": 1}],
        encryption_spec={"kms_key_name": KEY},
        resource_runtime_spec={"service_account_spec": {"enable_custom_service_account": True}},
    )
    transport = PersistentResourceServiceGrpcTransport(channel=grpc.insecure_channel(server.grpc_address))
    client = aiplatform_v1.PersistentResourceServiceClient(transport=transport)
    operation = client.create_persistent_resource(
        parent=request.parent, persistent_resource=resource, persistent_resource_id="night-a100-v1"
    )
    operation.result(timeout=20)


def test_machines_that_are_not_there_lead_to_the_next_fallback(tmp_path):
    none = (Stockout(STANDARD_TRIES, machine_type="n1-standard-8"),)
    with Server(tmp_path / "vertex", settings(stockouts=none)) as server:
        jobs = VertexJobs(parse_endpoint(server.rest_url))
        plan = planned(spec_file(tmp_path, more=FALLBACKS))
        first, _ = send(plan, jobs, tmp_path / "run")
        wait_for_end(jobs, first.job)
        second, _ = send(plan, jobs, tmp_path / "run")
        elsewhere, _ = send(plan, jobs, tmp_path / "another machine")
        assert [item.kind for item in second.tries] == ["stockout", None]
        assert stored(server, second.job) == plan.requests[1].job
        assert elsewhere.job == second.job
        assert len(of_run(server, plan.run_id)) == 2
        assert "Resources are insufficient" in second.tries[0].said


def test_without_a_fallback_the_stock_out_is_the_end(tmp_path):
    with Server(tmp_path / "vertex", settings(stockouts=(Stockout(STANDARD_TRIES),))) as server:
        jobs = VertexJobs(parse_endpoint(server.rest_url))
        plan = planned(spec_file(tmp_path))
        wait_for_end(jobs, send(plan, jobs, tmp_path / "run")[0].job)
        with pytest.raises(RunFailed, match=r"no overnight\.fallbacks"):
            send(plan, jobs, tmp_path / "run")


def wait_for_end(jobs: VertexJobs, name: str) -> None:
    from time import monotonic, sleep

    deadline = monotonic() + 20
    while not jobs.get(name).over:
        assert monotonic() < deadline
        sleep(0.02)


class Away:
    """The real service, away for the first calls: before they reach it, or after they did their work."""

    def __init__(self, jobs: VertexJobs, lost: list[str]) -> None:
        self._jobs = jobs
        self._lost = lost

    def __getattr__(self, name: str):
        def call(*arguments):
            if self._lost and self._lost[0] == f"{name} unsent":
                self._lost.pop(0)
                raise Refused("UNAVAILABLE", "the connection was lost")
            answer = getattr(self._jobs, name)(*arguments)
            if self._lost and self._lost[0] == f"{name} unanswered":
                self._lost.pop(0)
                raise Refused("DEADLINE_EXCEEDED", "no answer came")
            return answer

        return call


@pytest.mark.parametrize("lost", [["create unsent"], ["create unanswered"], ["of_run unsent", "create unanswered"]])
def test_a_lost_connection_is_waited_for_and_starts_the_job_once(lost, jobs, server, tmp_path):
    plan = planned(spec_file(tmp_path, f"print({next(NUMBERS)})"))
    submission, time = send(plan, Away(jobs, list(lost)), tmp_path / "run")
    assert [job.name for job in of_run(server, plan.run_id)] == [submission.job]
    assert time.naps == [1.0, 2.0][: len(lost)]


class Late:
    """The real service to somebody who looked before anybody had started anything."""

    def __init__(self, jobs: VertexJobs) -> None:
        self._jobs, self._looked = jobs, False

    def __getattr__(self, name: str):
        return getattr(self._jobs, name)

    def of_run(self, request):
        found = self._jobs.of_run(request) if self._looked else []
        self._looked = True
        return found


def test_of_two_who_looked_at_the_same_moment_one_job_stays(jobs, server, tmp_path):
    plan = planned(spec_file(tmp_path, f"import time; time.sleep({30 + next(NUMBERS)})"))
    first, _ = send(plan, jobs, tmp_path / "one")
    second, _ = send(plan, Late(jobs), tmp_path / "other")
    assert second.job == first.job
    states = {job.name == first.job: job.state for job in of_run(server, plan.run_id)}
    assert states[False] in ("CANCELLING", "CANCELLED")
    assert states[True] in ("QUEUED", "PENDING", "RUNNING")
    jobs.cancel(first.job)


def test_patience_has_an_end(tmp_path):
    jobs = VertexJobs(parse_endpoint("http://127.0.0.1:1"))  # nobody listens there
    time = Time()
    with pytest.raises(RunFailed, match="--run-id"):
        submit(planned(spec_file(tmp_path)), jobs, tmp_path / "run", time.clock, time.sleep, Budgets())
    assert time.naps == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]


def test_nothing_is_retried_after_the_deadline(tmp_path):
    none = (Stockout(STANDARD_TRIES, machine_type="n1-standard-8"),)
    with Server(tmp_path / "vertex", settings(stockouts=none)) as server:
        jobs = VertexJobs(parse_endpoint(server.rest_url))
        plan = planned(spec_file(tmp_path, more=f"  deadline: PT24H\n{FALLBACKS}"))
        wait_for_end(jobs, send(plan, jobs, tmp_path / "run")[0].job)
        late = Time()
        late.sleep(86400)
        with pytest.raises(RunFailed, match="the deadline has passed"):
            submit(plan, jobs, tmp_path / "run", late.clock, late.sleep, Budgets())


def test_a_quota_is_told_by_its_metric(tmp_path):
    metric = "aiplatform.googleapis.com/custom_model_training_nvidia_t4_gpus"

    class Full:
        """A project without quota: the local service has none to run out of."""

        def of_run(self, request):
            return []

        def create(self, request):
            raise Refused("RESOURCE_EXHAUSTED", f"The following quota metrics exceed quota limits: {metric}")

    with pytest.raises(RunFailed) as failed:
        send(planned(spec_file(tmp_path, more=FALLBACKS)), Full(), tmp_path / "run")
    assert metric in (failed.value.remedy or "")
    assert len(read_submission(tmp_path / "run").tries) == 1


@pytest.mark.parametrize(
    "name", ["", "x", "projects/p/locations/r/pipelineJobs/1", "projects/p/locations/r/customJobs/"]
)
def test_what_is_no_jobs_name_is_refused(name):
    with pytest.raises(OvernightError, match="is no job"):
        parts(name)


def test_the_refusals_own_words_are_kept_over_both_transports(jobs):
    with pytest.raises(Refused) as refused:
        jobs.get("projects/acme-vision-prod/locations/us-central1/customJobs/12")
    assert refused.value.code == "NOT_FOUND"
    assert refused.value.message.startswith("The resource projects/481516234207/")


def test_a_tuning_job_is_sent_and_listed_too(jobs, server, tmp_path):
    path = spec_file(tmp_path, "print(1)")
    text = path.read_text().replace("customJob:", "hyperparameterTuningJob:").replace("jobSpec:", "trialJobSpec:")
    study = "  maxTrialCount: 10\n  parallelTrialCount: 1\n  maxFailedTrialCount: 9\n  studySpec:\n"
    study += "    metrics: [{metricId: accuracy, goal: MAXIMIZE}]\n"
    study += "    parameters: [{parameterId: x, doubleValueSpec: {minValue: 0, maxValue: 1}}]\n"
    path.write_text(text.replace("  trialJobSpec:", f"{study}  trialJobSpec:"))
    plan = planned(path, run_id=a_run())
    submission, _ = send(plan, jobs, tmp_path / "run")
    job = jobs.get(submission.job)
    assert job.kind == "hyperparameterTuningJob"
    assert submission.job in {item.name for item in of_run(server, plan.run_id)}
    jobs.cancel(submission.job)
