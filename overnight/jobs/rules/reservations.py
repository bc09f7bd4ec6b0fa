"""Reserved capacity: how it is named, and what it does not go with."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView, PoolView

RESERVATION_FLEX = error(
    "reservation-flex-start", "A reservation does not go with FLEX_START.", "0 rule 9, 1.2; training/use-reservations"
)
RESERVATION_PERSISTENT = error(
    "reservation-persistent-resource",
    "A reservation does not go with persistentResourceId.",
    "0 rule 9, 1.2; training/use-reservations",
)
RESERVATION_SPOT = warning("reservation-spot", "A reservation does not go with SPOT (inferred).", "0 rule 8, 1.2")
RESERVATION_NAME = error(
    "reservation-name",
    "SPECIFIC_RESERVATION has the key and the full name of its reservation; other kinds have neither.",
    "1.1; training/use-reservations; API v1 protobuf",
)
RESERVATION_REGION = error(
    "reservation-region", "The reservation's zone is in the job's region.", "1.1; training/use-reservations"
)
RESERVATION_NEEDED = error("reservation-needed", "a4x-highgpu-4g comes from a reservation only.", "2.1")
RESERVATION_ADVISED = warning(
    "reservation-advised",
    "a3-megagpu, a3-ultragpu and a4 come from a reservation, Spot or FLEX_START: on demand they are rarely there.",
    "2.1; training/configure-compute",
)
KEY = "compute.googleapis.com/reservation-name"
_NAME = re.compile(r"projects/[^/]+/zones/([a-z]+-[a-z]+[0-9]+)-[a-z]/reservations/[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def excluded(job: JobView, context: Context) -> Iterator[Finding]:
    """Features that a reservation does not go with."""
    for pool in job.pools:
        if pool.reservation == "NO_RESERVATION":
            continue
        where = pool.at("machineSpec", "reservationAffinity")
        if job.strategy == "FLEX_START":
            yield RESERVATION_FLEX.at(
                where, "FLEX_START queues for capacity and takes no reservation", "keep one of them"
            )
        if job.strategy == "SPOT":
            yield RESERVATION_SPOT.at(
                where, "Spot takes spare capacity, a reservation held capacity", "keep one of them"
            )
        if job.persistent_resource:
            said = "a job on a persistent resource uses its machines and takes no reservation"
            yield RESERVATION_PERSISTENT.at(where, said, "keep one of them")


def named(job: JobView, context: Context) -> Iterator[Finding]:
    """Key and values."""
    for pool in job.pools:
        affinity = pool.machine_spec.get("reservationAffinity")
        if affinity is None:
            continue
        where = pool.at("machineSpec", "reservationAffinity")
        values = affinity.get("values", [])
        if pool.reservation != "SPECIFIC_RESERVATION":
            if affinity.get("key") or values:
                said = f"{pool.reservation} names no reservation"
                yield RESERVATION_NAME.at(
                    (*where, "values"), said, "remove key and values, or write SPECIFIC_RESERVATION"
                )
            continue
        if affinity.get("key") != KEY:
            yield RESERVATION_NAME.at((*where, "key"), "SPECIFIC_RESERVATION needs its key", f"write {KEY}")
        if not values or not all(_NAME.fullmatch(value) for value in values):
            said = "a reservation is named in full"
            yield RESERVATION_NAME.at((*where, "values"), said, "write projects/PROJECT/zones/ZONE/reservations/NAME")
            continue
        outside = [value for value in values if job.region and _zone_region(value) != job.region]
        if outside:
            said = f"{outside[0]} is not in {job.region}"
            yield RESERVATION_REGION.at((*where, "values"), said, "run the job in the reservation's region")


def _zone_region(value: str) -> str:
    match = _NAME.fullmatch(value)
    return match[1] if match else ""


def needed(job: JobView, context: Context) -> Iterator[Finding]:
    """Machines that are hardly to be had otherwise."""
    if job.persistent_resource:
        return
    for pool in job.pools:
        if pool.machine is None or pool.reservation != "NO_RESERVATION":
            continue
        where = pool.at("machineSpec", "reservationAffinity")
        if pool.machine.reservation == "required":
            said = f"{pool.machine_type} comes from a reservation only"
            yield RESERVATION_NEEDED.at(where, said, "name the reservation, or take a4-highgpu-8g")
        elif pool.machine.reservation == "recommended" and _on_demand(job, pool):
            said = f"{pool.machine_type} is rarely there on demand"
            yield RESERVATION_ADVISED.at(where, said, "name a reservation, or write strategy SPOT or FLEX_START")


def _on_demand(job: JobView, pool: PoolView) -> bool:
    return job.strategy not in ("SPOT", "FLEX_START")


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (excluded, named, needed)
