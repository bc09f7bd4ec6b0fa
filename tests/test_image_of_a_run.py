"""From the job spec's pin to run.json: what a run is told about its image, compares, and has on record.

Replicas are processes of this machine that are told what a container is told.
"""

import importlib.util
import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from overnight.jobs.resolve import Inputs, ResolvedJob, resolve
from overnight.jobs.spec import load
from overnight.lineage.record import RunFacts, write_record
from overnight.vertex_local.cluster import JobIdentity, ReplicaName
from overnight.vertex_local.command import Command, container_command
from overnight.vertex_local.job import JobEnd, JobState
from overnight.vertex_local.messages import CustomJob
from overnight.vertex_local.runner import run_job

ROOT = Path(__file__).parents[1]
NOW = datetime(2026, 3, 3, 2, tzinfo=UTC)
DIGEST, OTHER = f"sha256:{'0a' * 32}", f"sha256:{'0b' * 32}"
IMAGE = f"localhost:5005/images/trainer-cpu@{DIGEST}"

SPEC = """\
customJob:
  displayName: weekly
  jobSpec:
    workerPoolSpecs:
      - replicaCount: 1
        containerSpec: &trainer
          imageUri: IMAGE
          command: [python, -m, trainer.launch]
          args: [--preset=smoke, --set=epochs=1, "--set=model.arguments={width=4}"]
      - replicaCount: 1
        containerSpec: *trainer
overnight:
  model: classifier
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    spec = importlib.util.spec_from_file_location("bench_synthetic_image", ROOT / "bench" / "synthetic.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    made = module.write_synthetic(tmp_path_factory.mktemp("dataset"), images=60)
    return Inputs(made.snapshot, made.shards)


def resolved_job(folder: Path, inputs: Inputs) -> ResolvedJob:
    path = folder / "job.yaml"
    path.write_text(SPEC.replace("IMAGE", IMAGE))
    return resolve(load(path), inputs, folder / "runs", NOW)


def told(job: CustomJob, replica: ReplicaName, service: Mapping[str, str]) -> Command:
    """A process that is told its image, as a container is."""
    command = container_command(job, replica, service)
    variables = {item.name: item.value for item in job.job_spec.worker_pool_specs[replica.pool].container_spec.env}
    assert "OVERNIGHT_IMAGE" not in command.environment
    return Command(
        command.arguments,
        {**command.environment, "OMP_NUM_THREADS": "1", "OVERNIGHT_IMAGE": variables["OVERNIGHT_IMAGE"]},
    )


def run(job: ResolvedJob) -> JobEnd:
    return run_job(
        job.custom_job, JobIdentity("0", "1"), job.folder / "logs", lambda event: None, lambda: 0, starter=told
    )


def record(job: ResolvedJob, inputs: Inputs) -> dict[str, Any]:
    (job.folder / "spec.json").write_text("{}\n")
    pools = enumerate(job.custom_job.job_spec.worker_pool_specs)
    facts = RunFacts(
        run_id=job.run_id,
        root=job.folder.parents[1],
        status="succeeded",
        verdict="The primary replica ended well.",
        started=NOW,
        ended=NOW,
        display_name="weekly",
        model="classifier",
        spec_path=Path("job.yaml"),
        job_names=(),
        images=tuple((number, pool.container_spec.image_uri) for number, pool in pools),
        snapshot=inputs.snapshot,
    )
    return write_record(job.folder, facts)


def logs(job: ResolvedJob) -> str:
    return "".join(path.read_text() for path in sorted((job.folder / "logs").iterdir()))


def test_the_pinned_digest_comes_out_in_the_record(inputs: Inputs, tmp_path: Path) -> None:
    job = resolved_job(tmp_path, inputs)
    end = run(job)
    assert end.state is JobState.SUCCEEDED, logs(job)
    assert f"launch: image {DIGEST}: nothing inside says what it is" in logs(job)
    made = record(job, inputs)
    nothing = dict.fromkeys(("name", "source", "revision", "cpu"))
    assert made["trainer_image"] == {"reference": IMAGE, "digest": DIGEST, **nothing}
    assert json.loads((job.folder / "run.json").read_text())["trainer_image"]["digest"] == DIGEST


@pytest.mark.parametrize("pool", [0, 1])
def test_a_job_that_is_started_from_another_image_than_it_is_told_stops(
    pool: int, inputs: Inputs, tmp_path: Path
) -> None:
    job = resolved_job(tmp_path, inputs)
    job.custom_job.job_spec.worker_pool_specs[pool].container_spec.image_uri = IMAGE.replace(DIGEST, OTHER)
    end = run(job)
    assert end.state is JobState.FAILED
    assert f"OVERNIGHT_IMAGE: it says {DIGEST}, and CLUSTER_SPEC says that this container was started from" in logs(job)
    assert [path.name for path in job.folder.iterdir()] == ["logs"]
