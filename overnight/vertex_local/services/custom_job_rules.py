"""What CreateCustomJob refuses. Each rule is one of vertex-facts 0 to 1.2, which name Google's page for it.

Not checked, because this server has no tables of them: machine types, accelerators by region, quotas, images.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import Any

from overnight.vertex_local.engine.verdicts import FLEX_START
from overnight.vertex_local.services import field_rules
from overnight.vertex_local.services.field_rules import REQUIRED, Problem

_POOLS = 4
_VARIABLES = 100
_ARGUMENT_CHARACTERS = 100_000
_PACKAGES = 100
_C_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SEVEN_DAYS = timedelta(days=7)


def check_custom_job(job: Any) -> None:
    """Raise ApiError INVALID_ARGUMENT with everything that is wrong with the message by itself."""
    path = "custom_job"
    field_rules.refuse(
        chain(
            field_rules.display_name(path, job),
            field_rules.labels(path, job),
            job_spec(f"{path}.job_spec", job.job_spec),
        )
    )


def job_spec(path: str, spec: Any) -> Iterator[Problem]:
    """The rules on a CustomJobSpec, which a trial of a tuning job has too."""
    yield from _pools(path, spec)
    yield from _scheduling(path, spec)
    yield from field_rules.network(path, spec)
    if spec.tensorboard and not spec.service_account:
        says = "custom_job.job_spec.service_account must be specified when uploading to TensorBoard"
        yield f"{path}.service_account", says
    base = spec.base_output_directory.output_uri_prefix
    if base and not re.match(r"gs://[a-z0-9]", base):
        yield f"{path}.base_output_directory.output_uri_prefix", "Expected gs://BUCKET/PREFIX."


def _pools(path: str, spec: Any) -> Iterator[Problem]:
    pools = list(spec.worker_pool_specs)
    if not pools or not pools[0].WhichOneof("task"):
        yield f"{path}.worker_pool_specs", f"{REQUIRED} The first pool holds the primary replica."
    if len(pools) > _POOLS:
        yield f"{path}.worker_pool_specs", f"There are {_POOLS} worker pools at most."
    if pools and pools[0].replica_count > 1:
        says = "The first worker pool has one replica; further ones belong in the second."
        yield f"{path}.worker_pool_specs[0].replica_count", says
    for index, pool in enumerate(pools):
        if pool.ByteSize():  # An empty message skips the pool.
            yield from _pool(f"{path}.worker_pool_specs[{index}]", pool, bool(spec.persistent_resource_id))


def _pool(path: str, pool: Any, persistent: bool) -> Iterator[Problem]:
    task = pool.WhichOneof("task")
    if task is None:
        yield path, "Exactly one of container_spec and python_package_spec must be set."
    if pool.replica_count < 0:
        yield f"{path}.replica_count", "The count cannot be negative."
    yield from field_rules.machine(f"{path}.machine_spec", pool.machine_spec)
    yield from field_rules.disk(f"{path}.disk_spec", pool.disk_spec)
    if persistent and pool.machine_spec.reservation_affinity.reservation_affinity_type > 1:
        says = "A reservation cannot be used on a persistent resource."
        yield f"{path}.machine_spec.reservation_affinity", says
    if task == "container_spec":
        yield from _container(f"{path}.container_spec", pool.container_spec)
    elif task == "python_package_spec":
        yield from _package(f"{path}.python_package_spec", pool.python_package_spec)


def _container(path: str, container: Any) -> Iterator[Problem]:
    if not container.image_uri:
        yield f"{path}.image_uri", REQUIRED
    yield from _variables(path, container)
    yield from _arguments(path, [*container.command, *container.args])


def _package(path: str, package: Any) -> Iterator[Problem]:
    for field in ("executor_image_uri", "package_uris", "python_module"):
        if not getattr(package, field):
            yield f"{path}.{field}", REQUIRED
    if len(package.package_uris) > _PACKAGES:
        yield f"{path}.package_uris", f"There are {_PACKAGES} packages at most."
    yield from _variables(path, package)
    yield from _arguments(path, list(package.args))


def _variables(path: str, task: Any) -> Iterator[Problem]:
    if len(task.env) > _VARIABLES:
        yield f"{path}.env", f"There are {_VARIABLES} variables at most."
    for index, variable in enumerate(task.env):
        if not _C_IDENTIFIER.fullmatch(variable.name):
            yield f"{path}.env[{index}].name", "The name must be a C identifier."


def _arguments(path: str, arguments: list[str]) -> Iterator[Problem]:
    if sum(map(len, arguments)) > _ARGUMENT_CHARACTERS:
        yield f"{path}.args", f"All arguments together have {_ARGUMENT_CHARACTERS} characters at most."


def _scheduling(path: str, spec: Any) -> Iterator[Problem]:
    scheduling = spec.scheduling
    flexible = scheduling.strategy == FLEX_START
    if scheduling.HasField("max_wait_duration") and not flexible:
        yield f"{path}.scheduling.max_wait_duration", "This field can only be set with the strategy FLEX_START."
    for field in ("timeout", "max_wait_duration"):
        if getattr(scheduling, field).ToTimedelta() < timedelta(0):
            yield f"{path}.scheduling.{field}", "The duration cannot be negative."
    if not flexible:
        return
    if scheduling.timeout.ToTimedelta() > _SEVEN_DAYS:
        yield f"{path}.scheduling.timeout", "With the strategy FLEX_START the timeout is 7 days at most."
    machines = [pool.machine_spec for pool in spec.worker_pool_specs if pool.ByteSize()]
    if any(machine != machines[0] for machine in machines):
        yield f"{path}.worker_pool_specs", "With the strategy FLEX_START all worker pools have the same machine_spec."
    if any(machine.reservation_affinity.reservation_affinity_type > 1 for machine in machines):
        yield f"{path}.worker_pool_specs", "A reservation cannot be used with the strategy FLEX_START."
