"""Machines that a region does not have: configured, so that somebody's handling of it can be tried."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

STANDARD_RETRIES = 3
"""How often Vertex AI tries again when a region has no such machine (vertex-facts 6.2)."""
SPOT_RETRIES = 6
"""The same for Spot jobs, whose preemptions count as stock-outs."""


@dataclass(frozen=True)
class Stockout:
    """The next `times` attempts to get such machines in such a region find none. Empty: any."""

    times: int
    region: str = ""
    machine_type: str = ""
    accelerator_type: str = ""

    def meets(self, region: str, job: Any) -> bool:
        """Whether a pool of `job` asks for what is not there."""
        return self.region in ("", region) and any(
            self.machine_type in ("", pool.machine_spec.machine_type)
            and self.accelerator_type in ("", accelerator_name(pool.machine_spec))
            for pool in job.job_spec.worker_pool_specs
            if pool.WhichOneof("task")
        )


class Stock:
    """What is left of the configured stock-outs; a restarted server begins anew."""

    def __init__(self, stockouts: Iterable[Stockout]) -> None:
        self._left = {stockout: stockout.times for stockout in stockouts}

    def lacks(self, region: str, job: Any) -> bool:
        """Whether this attempt meets a stock-out, which is then used up by one."""
        for stockout, left in self._left.items():
            if left > 0 and stockout.meets(region, job):
                self._left[stockout] = left - 1
                return True
        return False


def accelerator_name(machine_spec: Any) -> str:
    """`NVIDIA_L4`; empty without an accelerator."""
    number = machine_spec.accelerator_type
    values = machine_spec.DESCRIPTOR.fields_by_name["accelerator_type"].enum_type.values_by_number
    return str(values[number].name) if number else ""


def stockout_message(region: str) -> str:
    """CustomJob.error.message when the tries are used up (vertex-facts 6.3)."""
    return f"Resources are insufficient in region: {region}. Try a different region or use a different accelerator."
