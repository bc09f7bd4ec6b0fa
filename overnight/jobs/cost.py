"""What a job has cost so far, by prices that somebody has read somewhere: an estimate that says whose they are."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from overnight.config import Environment
from overnight.config.training import MachineSpec
from overnight.jobs.client import Job


@dataclass(frozen=True)
class Price:
    """US dollars for an hour of the whole job."""

    usd_per_hour: float
    as_of: str | None = None
    """The day on which it was read."""
    fee_included: bool | None = None
    """Whether Vertex AI's own fee is in it; None: nobody has said."""

    @property
    def label(self) -> str:
        """`prices of 2026-11-01, the service's fee included`."""
        day = f"prices of {self.as_of}" if self.as_of else "prices of an unknown day"
        fee = {True: "the service's fee included", False: "without the service's fee"}.get(
            self.fee_included,  # type: ignore[arg-type]
            "whether with the service's fee is not said",
        )
        return f"{day}, {fee}"


def price_in(environment: Environment | None, spec: dict[str, Any]) -> Price | None:
    """The price of a CustomJobSpec by the environment's persistent resources, which hold the only prices there are.

    None when one of its machines has no price there, and for a job on a persistent resource: that is billed whether
    the job runs or not.
    """
    google = environment.google if environment else None
    if google is None or spec.get("persistentResourceId"):
        return None
    known = [
        (_hardware(pool.machine_spec), pool.usd_per_replica_hour, resource.prices_as_of.isoformat())
        for resource in google.persistent_resources
        for pool in resource.resource_pools
    ]
    total, days = 0.0, set()
    for pool in spec.get("workerPoolSpecs", []):
        if not pool:
            continue
        machine = pool.get("machineSpec", {})
        wanted = (machine.get("machineType"), machine.get("acceleratorType"), machine.get("acceleratorCount"))
        found = next(((price, day) for hardware, price, day in known if hardware == wanted), None)
        if found is None:
            return None
        total += found[0] * int(pool.get("replicaCount", 1))
        days.add(found[1])
    return Price(total, min(days), fee_included=True) if days else None


def cost(job: Job, price: Price, now: datetime) -> float:
    """US dollars from the job's start to its end, or to `now`. Machines that come and go in between are not seen."""
    if job.started is None:
        return 0.0
    seconds = ((job.ended or now) - job.started).total_seconds()
    return max(0.0, seconds) / 3600 * price.usd_per_hour


def _hardware(machine: MachineSpec) -> tuple[str | None, str | None, int | None]:
    return (machine.machine_type, machine.accelerator_type, machine.accelerator_count)
