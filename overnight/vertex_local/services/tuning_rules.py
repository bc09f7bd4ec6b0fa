"""What CreateHyperparameterTuningJob refuses (vertex-facts 1.6)."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api.errors import invalid
from overnight.vertex_local.engine.places import persistent_resource
from overnight.vertex_local.engine.stockouts import accelerator_name
from overnight.vertex_local.services import custom_job_rules, field_rules
from overnight.vertex_local.services.persistent_resource_rules import check_job_matches
from overnight.vertex_local.tuning.rules import JobError, Limits
from overnight.vertex_local.tuning.space import SpaceError
from overnight.vertex_local.tuning.trial import Study
from overnight.vertex_local.world import World


def check_tuning_job(world: World, parent: str, job: Any) -> None:
    """Raise ApiError INVALID_ARGUMENT, or NOT_FOUND for a persistent resource that is not there."""
    path = "hyperparameter_tuning_job"
    spec = f"{path}.trial_job_spec"
    field_rules.refuse(
        chain(
            field_rules.display_name(path, job),
            field_rules.labels(path, job),
            custom_job_rules.job_spec(spec, job.trial_job_spec),
            _no_tpu(spec, job.trial_job_spec),
        )
    )
    try:
        limits_of(job).check()
        Study.read(job.study_spec)
    except (JobError, SpaceError) as error:
        raise invalid(str(error)) from None
    trial = v1.CustomJob.pb()(job_spec=job.trial_job_spec, encryption_spec=job.encryption_spec)
    resource = persistent_resource(f"{parent}/customJobs/0", trial)
    if resource:
        check_job_matches(trial, world.resources.get(resource))


def limits_of(job: Any) -> Limits:
    """The job's three numbers."""
    return Limits(job.max_trial_count, job.parallel_trial_count, job.max_failed_trial_count)


def _no_tpu(path: str, spec: Any) -> Iterator[field_rules.Problem]:
    for index, pool in enumerate(spec.worker_pool_specs):
        if accelerator_name(pool.machine_spec).startswith("TPU"):
            yield f"{path}.worker_pool_specs[{index}].machine_spec", "Hyperparameter tuning does not support TPUs."
