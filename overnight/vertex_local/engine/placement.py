"""Jobs on a persistent resource: which of its pools a job's replicas occupy, as pure functions of the messages."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from overnight.vertex_local.engine.reduction import is_reducer

DEFAULT_DISK = ("pd-ssd", 100)
"""Boot disk type and size in GB where a message says nothing (vertex-facts 1.1)."""


class NoSuchPool(ValueError):
    """No pool of the persistent resource can ever hold the job; the text says why."""


def replicas_of(pool: Any) -> int:
    """How many replicas a pool of a job has; an empty placeholder has none."""
    return (pool.replica_count or 1) if pool.WhichOneof("task") else 0


def machine_replicas(job: Any) -> int:
    """How many replicas of a job compute something here: reducers sleep (reduction.py)."""
    return sum(replicas_of(pool) for pool in job.job_spec.worker_pool_specs if not is_reducer(pool))


def assign(job: Any, resource: Any) -> Mapping[str, int]:
    """Replicas by pool id of `resource`: each pool of the job goes to the first with equal machine and disk.

    Raises NoSuchPool when a pool of the job equals none, or all equal ones are too small even when empty.
    """
    taken: Counter[str] = Counter()
    for index, pool in enumerate(job.job_spec.worker_pool_specs):
        count = replicas_of(pool)
        if not count:
            continue
        equal = [candidate for candidate in resource.resource_pools if _same_shape(pool, candidate)]
        if not equal:
            raise NoSuchPool(
                f"worker_pool_specs[{index}]: no resource pool of {resource.name} has its machine_spec and disk_spec"
            )
        fitting = [candidate for candidate in equal if taken[candidate.id] + count <= most_replicas(candidate)]
        if not fitting:
            largest = max(most_replicas(candidate) for candidate in equal)
            raise NoSuchPool(
                f"worker_pool_specs[{index}]: {count} replicas were asked for, and the resource pool of "
                f"{resource.name} has {largest} at most"
            )
        taken[fitting[0].id] += count
    return dict(taken)


def most_replicas(pool: Any) -> int:
    """How many replicas a pool of a persistent resource can ever have."""
    return int(max(pool.replica_count, pool.autoscaling_spec.max_replica_count))


def scaled(pool: Any, used: int) -> int:
    """How many replicas an autoscaled pool has while `used` of them are occupied; others keep their number."""
    if not pool.autoscaling_spec.max_replica_count:
        return int(pool.replica_count)
    return int(min(max(pool.autoscaling_spec.min_replica_count, used), pool.autoscaling_spec.max_replica_count))


def _same_shape(pool: Any, candidate: Any) -> bool:
    return bool(pool.machine_spec == candidate.machine_spec) and _disk(pool.disk_spec) == _disk(candidate.disk_spec)


def _disk(disk: Any) -> tuple[str, int]:
    return disk.boot_disk_type or DEFAULT_DISK[0], disk.boot_disk_size_gb or DEFAULT_DISK[1]
