"""What the methods on persistent resources refuse, and what a job must share with the one it runs on."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from overnight.vertex_local.api.errors import failed_precondition
from overnight.vertex_local.services import field_rules
from overnight.vertex_local.services.field_rules import REQUIRED, Problem

_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_GONE = ("STOPPING", "ERROR")


def check_new(resource_id: str, resource: Any) -> None:
    """Raise ApiError INVALID_ARGUMENT with everything that is wrong with a resource to create."""
    field_rules.refuse(chain(_id(resource_id), check_content(resource)))


def check_content(resource: Any) -> Iterator[Problem]:
    """What is wrong with a persistent resource by itself."""
    path = "persistent_resource"
    yield from field_rules.display_name(path, resource, required=False)
    yield from field_rules.labels(path, resource)
    yield from field_rules.network(path, resource)
    if not resource.resource_pools:
        yield f"{path}.resource_pools", REQUIRED
    ids = [pool.id for pool in resource.resource_pools if pool.id]
    if len(ids) != len(set(ids)):
        yield f"{path}.resource_pools", "The ids of the pools must differ."
    on_ray = resource.resource_runtime_spec.HasField("ray_spec")
    for index, pool in enumerate(resource.resource_pools):
        yield from _pool(f"{path}.resource_pools[{index}]", pool, on_ray)


def check_job_matches(job: Any, resource: Any) -> None:
    """Raise ApiError when a job may not run on its persistent resource, whatever its pools (vertex-facts 1.1, 1.4)."""
    state = resource.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number[resource.state].name
    if state in _GONE:
        raise failed_precondition(f"{resource.name} is in state {state}; jobs cannot be submitted to it.")
    field_rules.refuse(_differences(job, resource))


def _differences(job: Any, resource: Any) -> Iterator[Problem]:
    same = "It must be the same as the persistent resource's."
    if job.job_spec.network != resource.network:
        yield "custom_job.job_spec.network", same
    if job.encryption_spec.kms_key_name != resource.encryption_spec.kms_key_name:
        yield "custom_job.encryption_spec", same
    runtime = resource.resource_runtime_spec.service_account_spec
    if job.job_spec.service_account and not runtime.enable_custom_service_account:
        says = "The persistent resource has not been created with enable_custom_service_account."
        yield "custom_job.job_spec.service_account", says


def _id(resource_id: str) -> Iterator[Problem]:
    if not _ID.fullmatch(resource_id):
        says = "An id has up to 63 of a-z, 0-9 and -, begins with a letter and does not end with -."
        yield "persistent_resource_id", says


def _pool(path: str, pool: Any, on_ray: bool) -> Iterator[Problem]:
    yield from field_rules.machine(f"{path}.machine_spec", pool.machine_spec)
    yield from field_rules.disk(f"{path}.disk_spec", pool.disk_spec)
    if not pool.HasField("autoscaling_spec"):
        if pool.replica_count < 1:
            yield f"{path}.replica_count", "Either replica_count or autoscaling_spec must be set."
        return
    least, most = pool.autoscaling_spec.min_replica_count, pool.autoscaling_spec.max_replica_count
    if least < (0 if on_ray else 1):
        yield f"{path}.autoscaling_spec.min_replica_count", "It must be greater than 0."
    if most <= least:
        yield f"{path}.autoscaling_spec.max_replica_count", "It must be greater than min_replica_count."
    if pool.replica_count and not least <= pool.replica_count <= most:
        yield f"{path}.replica_count", "It must lie between min_replica_count and max_replica_count."
