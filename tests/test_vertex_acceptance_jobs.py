"""The local Vertex AI as a process: cancelling, time limits, persistent resources, tuning, schedules and gcloud."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from google.cloud import aiplatform_v1 as v1

from vertex_process import NUMBER, PARENT, PROJECT, REGION, Served, User, served
from vertex_support import client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PIPELINE = Path(__file__).parent / "overnight" / "vertex_local" / "pipelines" / "specs" / "loop.json"
PARIS = ZoneInfo("Europe/Paris")
WEEK = 7 * 24 * 3600
SLEEP = "import time; time.sleep(60)"
HOLD = "import os, time\nwhile not os.path.exists(os.environ['OVERNIGHT_GCS_ROOT'] + '/go'): time.sleep(0.01)"
LINES = "for number in range(3): print('line', number)"
NAME_ONLY = "--format=value(name)"
TRIAL = """
import argparse, os, time
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
loss = (parser.parse_args().rate - 0.1) ** 2
time.sleep(0.3)
line = '{"timestamp": %f, "trial": "%s", "loss": "%r", "global_step": "1", "checkpoint_path": ""}'
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
    print(line % (time.time(), os.environ["CLOUD_ML_TRIAL_ID"], loss), file=file)
"""


@pytest.fixture(scope="module")
def vertex(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("site") / "vertex", "--slots", "4", "--grace", "10") as running:
        yield running


def job(program: str, **more: Any) -> dict[str, Any]:
    """One replica of a Python program, as vertex_user.py wants it."""
    container = {"image_uri": "us-docker.pkg.dev/p/r/i", "command": [sys.executable, "-c", program]}
    pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}
    return {"display_name": "small", "pools": [pool], **more}


def until(look: Callable[[], Any], seconds: float = 60) -> Any:
    """What `look` returns as soon as it is true."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("wire", ["grpc", "rest"])
def test_a_job_is_cancelled_and_another_runs_out_of_time(wire: str, vertex: Served) -> None:
    with User(vertex, wire, "jobs", [job(SLEEP, cancel=True), job(SLEEP, submit={"timeout": 1})]) as user:
        _, cancelled, _, late = (user.says() for _ in range(4))
    assert vertex.states(cancelled["name"]) == ["QUEUED", "PENDING", "RUNNING", "CANCELLING", "CANCELLED"]
    assert (cancelled["states"][-1], cancelled["code"]) == ("CANCELLED", 1)
    assert (late["states"][-1], late["code"]) == ("FAILED", 4)
    assert 1 <= late["ended"] - late["started"] < 10


def test_a_third_job_waits_for_the_persistent_resource(vertex: Served) -> None:
    machines = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 2}
    request = {
        "resource": {"persistent_resource_id": "pool", "resource_pools": [machines]},
        "jobs": [job(HOLD, submit={"persistent_resource_id": "pool"})] * 3,
    }
    with User(vertex, "rest", "pool", request) as user:
        resource = user.says()
        assert resource["state"] == "RUNNING"
        names = [user.says()["name"] for _ in range(3)]
        until(lambda: [vertex.states(name)[-1] for name in names[:2]] == ["RUNNING"] * 2)
        assert vertex.message(resource["name"])["resourcePools"][0]["usedReplicaCount"] == "2"
        assert vertex.message(names[2])["state"] == "JOB_STATE_QUEUED"
        vertex.bucket("go").touch()
        first, second, third = (user.says() for _ in range(3))
        assert user.says()["left"] == []
    assert [ended["states"][-1] for ended in (first, second, third)] == ["SUCCEEDED"] * 3
    assert third["states"][0] == "QUEUED"
    assert third["started"] >= min(first["ended"], second["ended"])


def test_of_twelve_trials_four_run_at_a_time(vertex: Served) -> None:
    with User(vertex, "grpc", "study", {"pools": job(TRIAL)["pools"], "trials": 12, "parallel": 4}) as user:
        study = user.says()
    assert study["state"] == "SUCCEEDED"
    trials = study["trials"]
    assert [trial["id"] for trial in trials] == [str(number) for number in range(1, 13)]
    assert {trial["state"] for trial in trials} == {"SUCCEEDED"}
    assert [trial["loss"] for trial in trials] == pytest.approx([(trial["rate"] - 0.1) ** 2 for trial in trials])
    assert 1 < study["most"] <= 4
    at_once = [sum(other["start"] <= trial["start"] < other["end"] for other in trials) for trial in trials]
    assert max(at_once) == 4


def test_a_schedule_fires_twice_when_two_weeks_pass(vertex: Served) -> None:
    """Over REST, the clock moved by the command."""
    connected = SimpleNamespace(rest_url=vertex.rest)
    schedules, pipelines = (
        client(connected, which, "rest") for which in (v1.ScheduleServiceClient, v1.PipelineServiceClient)
    )
    run = {
        "display_name": "weekly",
        "pipeline_spec": json.loads(PIPELINE.read_text()),
        "runtime_config": {"gcs_output_directory": "gs://staging/root", "parameter_values": {"rates": []}},
    }
    schedule = {
        "display_name": "weekly",
        "cron": "TZ=Europe/Paris 0 20 * * 5",
        "max_concurrent_run_count": 1,
        "create_pipeline_job_request": {"parent": PARENT, "pipeline_job": run},
    }
    name = schedules.create_schedule(parent=PARENT, schedule=schedule).name
    first = schedules.get_schedule(name=name).next_run_time
    for count in (1, 2):
        assert vertex.command("advance", str(WEEK)).startswith("The server's clock shows ")
        until(lambda count=count: schedules.get_schedule(name=name).started_run_count == count)
    third = schedules.get_schedule(name=name).next_run_time.astimezone(PARIS)
    assert (third.weekday(), third.hour, (third - first.astimezone(PARIS)).days) == (4, 20, 14)
    wanted = {"parent": PARENT, "filter": f'schedule_name="{name}"'}
    states = ["PIPELINE_STATE_SUCCEEDED"] * 2
    until(lambda: [made.state.name for made in pipelines.list_pipeline_jobs(request=wanted)] == states)
    schedules.delete_schedule(name=name).result(timeout=10)


@pytest.fixture
def gcloud(vertex: Served, tmp_path: Path) -> Callable[..., "subprocess.Popen[str]"]:
    """Starts `gcloud ai custom-jobs ARGUMENTS` against the local server, with nothing of this user's settings."""
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not on PATH")
    settings = {
        "CLOUDSDK_CONFIG": str(tmp_path / "gcloud"),
        "CLOUDSDK_CORE_PROJECT": PROJECT,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "true",
        "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING": "true",
        "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK": "true",
        "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_AIPLATFORM": f"{vertex.rest}/",
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": f"{vertex.rest}/",
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDSDK_")}

    def start(*arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["gcloud", "ai", "custom-jobs", *arguments],
            env={**environment, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def pools_as_json(program: str) -> list[dict[str, Any]]:
    """Worker pools as the API's JSON has them."""
    container = {"imageUri": "us-docker.pkg.dev/p/r/i", "command": ["python", "-c"], "args": [program]}
    return [{"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": "1", "containerSpec": container}]


def said(process: "subprocess.Popen[str]") -> str:
    """What a gcloud command printed, when it has ended well."""
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return output.strip()


def test_gcloud_creates_describes_lists_follows_and_cancels(
    gcloud: Callable[..., "subprocess.Popen[str]"], vertex: Served, tmp_path: Path
) -> None:
    config = tmp_path / "job.yaml"
    config.write_text(json.dumps({"workerPoolSpecs": pools_as_json(LINES)}))
    where = f"--region={REGION}"
    short = said(gcloud("create", where, "--display-name=short", f"--config={config}", "--labels=by=gcloud", NAME_ONLY))
    assert short.startswith(f"projects/{NUMBER}/locations/{REGION}/customJobs/")
    pool = "--worker-pool-spec=machine-type=n1-standard-4,replica-count=1,container-image-uri=us-docker.pkg.dev/p/r/i"
    long = said(gcloud("create", where, "--display-name=long", pool, "--command=sleep", "--args=60", NAME_ONLY))

    described = json.loads(said(gcloud("describe", long, "--format=json")))
    assert described["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["command"] == ["sleep"]
    assert described["state"] in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING")
    assert said(gcloud("list", where, "--filter=labels.by=gcloud", NAME_ONLY)) == short
    said(gcloud("cancel", long))
    assert until(lambda: vertex.message(long)["state"] == "JOB_STATE_CANCELLED")
    assert said(gcloud("describe", long.rpartition("/")[2], where, "--format=value(state)")) == "JOB_STATE_CANCELLED"

    # gcloud shows what is five seconds old, and looks for the end every ten: reading the lines is enough here.
    with gcloud("stream-logs", short, "--polling-interval=1") as following:
        assert following.stdout is not None
        lines = [following.stdout.readline().split("\t") for _ in range(3)]
        following.terminate()
    assert [(line[0], *line[2:]) for line in lines] == [("INFO", "workerpool0-0", f"line {n}\n") for n in range(3)]
