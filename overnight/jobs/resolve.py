"""From a job spec to the exact message of one run: snapshot, run id, output folder, environment."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from overnight.files import sha256_bytes
from overnight.jobs.errors import SpecError
from overnight.jobs.rules.image_variable import VARIABLE, is_pinned
from overnight.jobs.spec import JobSpec, spec_bytes
from overnight.vertex_local.messages import CustomJob


@dataclass(frozen=True)
class Inputs:
    """What a run reads: folders as the training process sees them."""

    snapshot: Path
    """The snapshot's folder."""
    shards: Path
    """The folder of all shard sets."""


@dataclass(frozen=True)
class ResolvedJob:
    """The message of one run, complete."""

    run_id: str
    folder: Path
    custom_job: CustomJob


def resolve(spec: JobSpec, inputs: Inputs, runs: Path, now: datetime) -> ResolvedJob:
    """Name the run and fill in what it reads and where it writes; `spec` stays as it is.

    The run id's hex digits are the digest of the message with its inputs, before the run's own name and
    folder are added to it. Raises SpecError when the spec names a baseOutputDirectory.
    """
    if spec.custom_job.job_spec.HasField("base_output_directory"):
        raise SpecError(
            "overnight run writes into the run's own folder",
            where=f"{spec.path}, customJob.jobSpec.baseOutputDirectory",
            remedy="remove the field",
        )
    job = with_environment(
        spec.custom_job, {"OVERNIGHT_SNAPSHOT": str(inputs.snapshot), "OVERNIGHT_SHARDS": str(inputs.shards)}
    )
    job = with_images(job)
    run_id = f"{now:%Y%m%d-%H%M%S}-{sha256_bytes(spec_bytes(job))[:8]}"
    folder = runs / run_id
    job = with_environment(job, {"OVERNIGHT_RUN_ID": run_id})
    job.job_spec.base_output_directory.output_uri_prefix = str(folder)
    return ResolvedJob(run_id, folder, job)


def with_environment(job: CustomJob, variables: dict[str, str]) -> CustomJob:
    """A copy of the message whose every task has `variables` after its own."""
    copy = type(job)()
    copy.CopyFrom(job)
    for pool in copy.job_spec.worker_pool_specs:
        task = pool.WhichOneof("task")
        if task is None:
            continue
        for name, value in sorted(variables.items()):
            getattr(pool, task).env.add(name=name, value=value)
    return copy


def with_images(job: CustomJob) -> CustomJob:
    """A copy of the message whose every container is told its image, where that is pinned and the spec says nothing."""
    copy = type(job)()
    copy.CopyFrom(job)
    for pool in copy.job_spec.worker_pool_specs:
        container = pool.container_spec
        said = any(item.name == VARIABLE for item in container.env)
        # Google's reducers take no variables (vertex-facts 1.3).
        if is_pinned(container.image_uri) and not said and "/reductionserver" not in container.image_uri:
            container.env.add(name=VARIABLE, value=container.image_uri)
    return copy


def inputs_of(job: CustomJob) -> Inputs:
    """What a resolved message reads."""
    pool = job.job_spec.worker_pool_specs[0]
    variables = {item.name: item.value for item in getattr(pool, pool.WhichOneof("task")).env}
    return Inputs(Path(variables["OVERNIGHT_SNAPSHOT"]), Path(variables["OVERNIGHT_SHARDS"]))
