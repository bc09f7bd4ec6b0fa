"""Where a job may run: one region, known, allowed, with its accelerators for training."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import REGION, JobView
from overnight.machines import machine_problem, region_suggestion

REGION_IS_ZONE = error(
    "region-is-zone", "A job runs in a region; the service chooses the zone.", "2.3; general/locations"
)
REGION_NAME = error(
    "region-name", "The region is one, spelt right: neither global nor a multi-region.", "general/locations"
)
REGION_NOT_ALLOWED = error("region-not-allowed", "The region is in the environment's allowed_regions.", "config")
REGION_ACCELERATOR = error(
    "region-accelerator",
    "The region offers the accelerator for training, not merely for serving.",
    "0 rule 5, 2.3; general/locations; openreview/openreview-expertise#401",
)
REGION_FAR = warning(
    "region-far-from-data",
    "The job runs in the region of the environment's buckets: other reads are slow and billed.",
    "0 rule 12; training/cloud-storage-file-system",
)

_ZONE = re.compile(r"([a-z]+-[a-z]+[0-9]+)-[a-z]")


def named(job: JobView, context: Context) -> Iterator[Finding]:
    """The region that the spec names itself."""
    name = job.named_region
    if name is None:
        return
    zone = _ZONE.fullmatch(name)
    if zone:
        said = f"{name} is a zone: Vertex AI takes a region and chooses the zone itself"
        yield REGION_IS_ZONE.at(job.region_path, said, f"write {zone[1]}")
    elif not REGION.fullmatch(name):
        said = f"{name!r} is not a region: custom jobs run in exactly one"
        yield REGION_NAME.at(job.region_path, said, "write one such as us-central1")
    elif meant := region_suggestion(name):
        yield REGION_NAME.at(job.region_path, f"there is no region {name!r}", f"did you mean {meant!r}?")


def allowed(job: JobView, context: Context) -> Iterator[Finding]:
    """The region against the environment."""
    if job.named_region is None or job.region is None:
        return
    if context.allowed_regions and job.region not in context.allowed_regions:
        known = ", ".join(context.allowed_regions)
        said = f"the environment allows {known}, not {job.region}"
        yield REGION_NOT_ALLOWED.at(job.region_path, said, "choose one of these, or add it to allowed_regions")
    elif context.region and job.region != context.region:
        yield REGION_FAR.at(
            job.region_path,
            f"buckets and registry of the environment stand in {context.region}: every read crosses regions",
            "copy the shards there first, or stay",
        )


def offered(job: JobView, context: Context) -> Iterator[Finding]:
    """Accelerators that the region offers for training."""
    if job.region is None:
        return
    seen: set[str] = set()
    for pool in job.pools:
        if pool.machine_type is None:
            continue
        problem = machine_problem(
            machine_type=pool.machine_type,
            accelerator_type=pool.accelerator,
            accelerator_count=pool.accelerator_count or None,
            region=job.region,
            today=context.today,
        )
        if problem is None or problem.part != "region" or problem.message in seen:
            continue
        seen.add(problem.message)
        where = job.region_path if job.named_region else pool.at("machineSpec", "acceleratorType")
        yield REGION_ACCELERATOR.at(where, problem.message, problem.remedy)


CHECKS: tuple[Check, ...] = (named,)
CLOUD_CHECKS: tuple[Check, ...] = (allowed, offered)
