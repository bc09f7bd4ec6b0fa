"""The local Vertex AI, whole: a process that serves, Google's SDK as its user, and the real trainer as the job."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from overnight.files import sha256_file
from support import draw_folder, overnight
from vertex_process import NUMBER, Served, User, served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[1]
SHARDS = "acme-vision-prod-example-shards"
"""The bucket that config/example.yaml names for snapshots and shards."""
NOW = "2026-11-30T20:00:00Z"
SAVE_EVERY = 5
"""Steps from one checkpoint to the next."""
ARGUMENTS = [
    "--preset=smoke",
    "--set=epochs=8",
    f"--set=checkpoint.every_steps={SAVE_EVERY}",
    "--set=evaluation.every_epochs=8",
    "--set=data.log_samples=true",
]
TELL = """
import json, os, pathlib, time
folder = pathlib.Path(os.environ["OVERNIGHT_GCS_ROOT"], os.environ["AIP_CHECKPOINT_DIR"].removeprefix("gs://"))
folder.mkdir(parents=True, exist_ok=True)
task = json.loads(os.environ["CLUSTER_SPEC"])["task"]
part = folder / f"{task['type']}-{task['index']}.part"
part.write_text(json.dumps(dict(os.environ)))
part.rename(part.with_suffix(".json"))
while task["type"] == "workerpool0" and not (folder / "workerpool1-0.json").exists():
    time.sleep(0.01)
"""


@pytest.fixture(scope="module")
def vertex(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    environment = {**os.environ, "SECRET_OF_THIS_MACHINE": "1"}
    with served(tmp_path_factory.mktemp("site") / "vertex", "--slots", "4", environment=environment) as running:
        yield running


@pytest.fixture(scope="module")
def command(vertex: Served, command_environment: dict[str, str]) -> Callable[..., str]:
    """Runs `overnight ARGUMENTS` beside the server, with config/example.yaml but for where it keeps its things."""
    site = vertex.folder.parent
    config = (ROOT / "config" / "example.yaml").read_text().replace("root: data\n", f"root: {vertex.bucket(SHARDS)}\n")
    config = config.replace("near_duplicate_distance: 1", "near_duplicate_distance: 0")
    (site / "env.yaml").write_text(config.replace("max_near_duplicates: 0.1", "max_near_duplicates: 1.0"))
    environment = {
        **command_environment,
        "OVERNIGHT_CONFIG": "env.yaml",
        "OVERNIGHT_NOW": NOW,
        "OVERNIGHT_VERTEX_ENDPOINT": vertex.rest,
    }
    return lambda *arguments: overnight(*arguments, cwd=site, environment=environment).stdout


@pytest.fixture(scope="module")
def snapshot(vertex: Served, command: Callable[..., str]) -> str:
    """The name of a snapshot of drawn pictures, made in the bucket."""
    draw_folder(vertex.folder.parent / "pictures", 60)
    command("import", "pictures")
    command("shards", "build")
    command("snapshot", "create")
    (made,) = vertex.bucket(f"{SHARDS}/snapshots").glob("20261130-*")
    return made.name


def two(container: dict[str, Any]) -> list[dict[str, Any]]:
    """The primary and one worker."""
    machine = {"machine_type": "n1-standard-4"}
    container = {"image_uri": "us-central1-docker.pkg.dev/p/r/trainer", **container}
    return [{"machine_spec": machine, "replica_count": 1, "container_spec": container} for _ in range(2)]


def training(name: str, snapshot: str, **submit: Any) -> dict[str, Any]:
    """What a user asks for: the trainer, told in both ways that Vertex AI writes of buckets."""
    environment = [
        {"name": "OVERNIGHT_SNAPSHOT", "value": f"gs://{SHARDS}/snapshots/{snapshot}"},
        {"name": "OVERNIGHT_SHARDS", "value": f"/gcs/{SHARDS}/shards"},
    ]
    container = {"command": ["python", "-m", "trainer.launch"], "args": ARGUMENTS, "env": environment}
    submit = {"restart_job_on_worker_restart": True, **submit}
    return {"display_name": name, "pools": two(container), "base": f"gs://staging/{name}", "submit": submit}


def telling(name: str) -> dict[str, Any]:
    """A job whose replicas write down their environments and do nothing else."""
    container = {"command": [sys.executable, "-c", TELL]}
    return {"display_name": name, "pools": two(container), "base": f"gs://staging/{name}"}


def steps(run: Path) -> list[dict[str, Any]]:
    """Every line of a run's samples.log, of all its attempts."""
    try:
        lines = (run / "samples.log").read_text().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n")]


@pytest.fixture(scope="module", params=["grpc", "rest"])
def finished(request: pytest.FixtureRequest, vertex: Served, snapshot: str) -> tuple[str, dict[str, Any]]:
    """Over one wire: a job that tells its environment, then a training that nobody disturbs; how it ended."""
    wire = request.param
    with User(vertex, wire, "jobs", [telling(f"telling-{wire}"), training(f"quiet-{wire}", snapshot)]) as user:
        assert user.says()["name"]
        assert user.says()["states"][-1] == "SUCCEEDED"
        name = user.says()["name"]
        ended = user.says()
    assert ended["states"][-1] == "SUCCEEDED", vertex.log(name)
    return wire, ended


def test_a_training_goes_from_the_queue_to_its_end(finished: tuple[str, dict[str, Any]], vertex: Served) -> None:
    _, ended = finished
    documented = ["QUEUED", "PENDING", "RUNNING", "SUCCEEDED"]
    assert vertex.states(ended["name"]) == documented
    # Whoever looks now and then may miss PENDING, which is short here.
    assert ended["states"] in (documented, [state for state in documented if state != "PENDING"])


def test_every_replica_is_told_its_place(finished: tuple[str, dict[str, Any]], vertex: Served) -> None:
    wire, _ = finished
    base = f"gs://staging/telling-{wire}"
    folder = vertex.bucket(f"staging/telling-{wire}/checkpoints")
    told = [json.loads((folder / f"workerpool{pool}-0.json").read_text()) for pool in (0, 1)]
    for pool, environment in enumerate(told):
        spec, tensorflow = json.loads(environment["CLUSTER_SPEC"]), json.loads(environment["TF_CONFIG"])
        assert spec["task"] == {"type": f"workerpool{pool}", "index": 0}
        assert tensorflow["task"] == {"type": ("chief", "worker")[pool], "index": 0}
        assert list(tensorflow["cluster"].values()) == list(spec["cluster"].values())
        assert {len(hosts) for hosts in spec["cluster"].values()} == {1}
        assert spec["environment"] == tensorflow["environment"] == "cloud"
        assert json.loads(spec["job"])["baseOutputDirectory"] == {"outputUriPrefix": base}
        for folder_name, variable in (("model", "MODEL"), ("checkpoints", "CHECKPOINT"), ("logs", "TENSORBOARD_LOG")):
            assert environment[f"AIP_{variable}_DIR"] == f"{base}/{folder_name}/"
        assert environment["CLOUD_ML_PROJECT_ID"] == NUMBER
        assert environment["CLOUD_ML_JOB_ID"].isdigit()
        assert environment.keys().isdisjoint({"RANK", "WORLD_SIZE", "MASTER_ADDR", "SECRET_OF_THIS_MACHINE"})
    assert json.loads(told[0]["CLUSTER_SPEC"])["cluster"] == json.loads(told[1]["CLUSTER_SPEC"])["cluster"]
    assert told[0]["CLOUD_ML_JOB_ID"] == told[1]["CLOUD_ML_JOB_ID"]


def test_the_model_is_in_the_bucket(finished: tuple[str, dict[str, Any]], vertex: Served, snapshot: str) -> None:
    wire, _ = finished
    run = vertex.bucket(f"staging/quiet-{wire}")
    result = json.loads((run / "result.json").read_text())
    model = json.loads((run / "model" / "model.json").read_text())
    weights = sha256_file(run / "model" / "model.safetensors")
    assert weights == result["weights_sha256"] == model["weights"]["sha256"]
    assert result["snapshot"]["name"] == snapshot
    assert model["classes"] == ["across", "down", "plain"]
    assert result["restarts"] == 0


@pytest.fixture(scope="module")
def preempted(vertex: Served, snapshot: str) -> tuple[str, Path]:
    """The same training on Spot machines that are taken away once; its name and its folder."""
    run = vertex.bucket("staging/spot")
    with User(vertex, "rest", "jobs", [training("spot", snapshot, scheduling_strategy="SPOT")]) as user:
        name = user.says()["name"]
        wait_for(lambda: len(steps(run)) > SAVE_EVERY)
        assert vertex.command("preempt", name) == f"Preempted {name}\n"
        assert user.says()["states"][-1] == "SUCCEEDED", vertex.log(name)
    return name, run


def test_a_preempted_training_goes_on_from_its_checkpoint(preempted: tuple[str, Path], vertex: Served) -> None:
    name, run = preempted
    assert vertex.states(name) == ["QUEUED", "PENDING", "RUNNING", "PENDING", "RUNNING", "SUCCEEDED"]
    result = json.loads((run / "result.json").read_text())
    assert result["restarts"] == 1
    assert 0 <= len(steps(run)) - result["steps"] <= SAVE_EVERY


def test_a_preempted_training_ends_in_the_same_weights(
    preempted: tuple[str, Path], finished: tuple[str, dict[str, Any]], vertex: Served
) -> None:
    run, quiet = preempted[1], vertex.bucket(f"staging/quiet-{finished[0]}")
    assert {line["step"]: line["digest"] for line in steps(run)} == {
        line["step"]: line["digest"] for line in steps(quiet)
    }
    assert sha256_file(run / "model" / "model.safetensors") == sha256_file(quiet / "model" / "model.safetensors")


def test_a_shipped_spec_is_submitted_watched_and_listed(
    vertex: Served, command: Callable[..., str], snapshot: str
) -> None:
    """jobs/weekly-a100-spot.yaml, with one worker in place of three and a recipe for this machine."""
    shipped = (ROOT / "jobs" / "weekly-a100-spot.yaml").read_text()
    assert "[--preset=night-16]" in shipped
    small = shipped.replace("[--preset=night-16]", "[--preset=smoke]").replace("replicaCount: 3", "replicaCount: 1")
    (vertex.folder.parent / "weekly.yaml").write_text(small)
    name = command("job", "submit", "weekly.yaml").splitlines()[0]
    run_id = vertex.message(name)["labels"]["overnight-run"]
    watched = command("job", "watch", run_id, "--interval", "0.2")
    assert watched.splitlines()[-1].startswith("SUCCEEDED for ")
    newest = json.loads(command("job", "list", "--json"))[0]
    assert (newest["name"], newest["state"]) == (name, "SUCCEEDED")
    logged = command("job", "logs", run_id)
    assert "workerpool0-0 | launch: ranks 0 of 2 are here" in logged
    assert "workerpool1-0 | launch: ranks 1 of 2 are here" in logged
    run = vertex.bucket(f"acme-vision-prod-example-staging/jobs/weekly/{run_id}")
    result = json.loads((run / "result.json").read_text())
    assert result["snapshot"]["name"] == snapshot
    assert sha256_file(run / "model" / "model.safetensors") == result["weights_sha256"]


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.01)
