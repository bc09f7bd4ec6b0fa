"""TPUs: one pool, one replica, and a slice that the machine makes up."""

from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView, PoolView

TPU_SINGLE_POOL = error(
    "tpu-single-pool",
    "A TPU job has one pool with one replica; the slice is its size.",
    "0 rule 6, 7 (b); training/configure-compute",
)
TPU_TOPOLOGY = error(
    "tpu-topology",
    "v5e, v6e and 7x name a tpuTopology that their machine makes up; no other machine has one.",
    "0 rule 6, 2.1; training/configure-compute",
)
TPU_POD_SPOT = error(
    "tpu-pod-spot", "TPU Pods (v2, v3 with more than 8 cores) do not run on Spot.", "0 rule 6, 8; training/use-spot-vms"
)
TPU_SLICE_SPOT = warning(
    "tpu-slice-spot",
    "A TPU slice of several machines does not run on Spot: it is what the documentation calls a Pod (inferred).",
    "0 rule 6, 8; training/use-spot-vms",
)
TPU_PERSISTENT = warning(
    "tpu-persistent-resource", "TPUs are not on a persistent resource: its list has VMs and GPUs.", "1.2"
)
TPU_RESERVATION = warning(
    "tpu-reservation", "TPUs do not draw on reservations yet: Preview.", "1.2; training/use-reservations"
)
HOST_CHIPS = 8
"""The largest TPU machine holds 8 chips, v2 and v3 boards 8 cores."""


def single_pool(job: JobView, context: Context) -> Iterator[Finding]:
    """How many machines a TPU job names."""
    tpus = [pool for pool in job.pools if pool.is_tpu]
    if tpus and len(job.pools) > 1:
        yield TPU_SINGLE_POOL.at(
            job.at("workerPoolSpecs"),
            "a TPU job has one pool with one replica: the machines of a slice come with it, not from a pool of workers",
            "keep pool 0, and choose tpuTopology for the size",
        )


def topology(job: JobView, context: Context) -> Iterator[Finding]:
    """The slice against the machine."""
    for pool in job.pools:
        machine = pool.machine
        if machine is None or machine.status != "listed":
            continue
        where = pool.at("machineSpec", "tpuTopology")
        known = ", ".join(machine.topologies)
        if machine.topologies and pool.topology is None:
            yield TPU_TOPOLOGY.at(where, f"{machine.machine_type} needs a tpuTopology", f"give one of {known}")
        elif machine.topologies and pool.topology not in machine.topologies:
            said = f"{machine.machine_type} makes up no slice {pool.topology}"
            yield TPU_TOPOLOGY.at(where, said, f"give one of {known}")
        elif not machine.topologies and pool.topology is not None:
            said = f"{machine.machine_type} has no tpuTopology"
            yield TPU_TOPOLOGY.at(where, said, "remove it, or take a machine such as ct5lp-hightpu-4t")


def spot(job: JobView, context: Context) -> Iterator[Finding]:
    """Spot takes single TPU machines only."""
    if job.strategy != "SPOT":
        return
    where = job.at("scheduling", "strategy")
    for pool in job.pools:
        if (pool.accelerator or "").startswith("TPU_V") and pool.accelerator_count > HOST_CHIPS:
            yield TPU_POD_SPOT.at(where, f"{pool.accelerator} with {pool.accelerator_count} is a Pod", "write STANDARD")
        elif pool.topology and _chips(pool) > HOST_CHIPS:
            yield TPU_SLICE_SPOT.at(where, f"slice {pool.topology} spans several machines", "write STANDARD")


def _chips(pool: PoolView) -> int:
    chips = 1
    for side in (pool.topology or "").split("x"):
        chips *= int(side) if side.isdigit() else 1
    return chips


def elsewhere(job: JobView, context: Context) -> Iterator[Finding]:
    """Features whose documentation leaves TPUs out."""
    for pool in job.pools:
        if not pool.is_tpu:
            continue
        if job.persistent_resource:
            said = "persistent resources list VMs and GPUs, not TPUs"
            yield TPU_PERSISTENT.at(job.at("persistentResourceId"), said, "remove it")
        if pool.reservation != "NO_RESERVATION":
            where = pool.at("machineSpec", "reservationAffinity")
            yield TPU_RESERVATION.at(where, "reservations of TPUs are in Preview", "do not build a night on it")


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (single_pool, topology, spot, elsewhere)
