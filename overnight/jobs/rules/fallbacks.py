"""Fallbacks: each is the job with some parts replaced, and is held to the same rules."""

from dataclasses import replace
from typing import Any

from overnight.jobs.block import Fallback
from overnight.jobs.document import FieldPath
from overnight.jobs.findings import Finding, error, warning
from overnight.jobs.view import JobView

FALLBACK_EMPTY = error("fallback-empty", "A fallback changes region, machineSpec or strategy.", "docs/jobs.md")
FALLBACK_SAME = warning(
    "fallback-same",
    "A fallback differs from the job and from the fallbacks before it: the same machines are just as rare.",
    "6.4; openreview/openreview-expertise#401",
)

PLACE = ("overnight", "fallbacks")


def fallen_back(job: JobView, fallback: Fallback) -> JobView:
    """The job as the fallback would run it.

    A machineSpec takes the place of pool 0's wherever that stands; pools on other machines (reducers, parameter
    servers) stay. A fallback leaves the persistent resource: it is tried when that is full.
    """
    spec: dict[str, Any] = {name: value for name, value in job.spec.items() if name != "persistentResourceId"}
    first = job.all_pools[0].hardware if job.all_pools else None
    if fallback.machine_spec is not None and "workerPoolSpecs" in spec:
        spec["workerPoolSpecs"] = [
            {**pool.data, "machineSpec": fallback.machine_spec} if pool.data and pool.hardware == first else pool.data
            for pool in job.all_pools
        ]
    if fallback.strategy is not None:
        # The job's own wait is for its own strategy.
        scheduling = {name: value for name, value in job.scheduling.items() if name != "maxWaitDuration"}
        spec["scheduling"] = {**scheduling, "strategy": fallback.strategy}
    if fallback.max_wait_duration is not None:
        spec["scheduling"] = {**spec.get("scheduling", {}), "maxWaitDuration": fallback.max_wait_duration}
    return replace(
        job,
        data={**job.data, job.spec_field: spec},
        named_region=fallback.region or job.named_region,
    )


def target(job: JobView) -> tuple[Any, ...]:
    """What makes two attempts the same: where, on what, and by which strategy."""
    return (job.region, job.strategy, tuple(pool.hardware for pool in job.pools), job.persistent_resource)


def moved(finding: Finding, job: JobView, index: int) -> Finding:
    """A finding about the changed job, at the field of the fallback that caused it."""
    place: FieldPath = (*PLACE, index)
    path = finding.path
    if "machineSpec" in path:
        place = (*place, *path[path.index("machineSpec") :])
    elif path[-1:] in (("strategy",), ("maxWaitDuration",)):
        place = (*place, path[-1])
    elif path[:2] == ("overnight", "region"):
        place = (*place, "region")
    return replace(finding, path=place, message=f"as a fallback: {finding.message}")
