"""Machine, accelerator and count: only combinations that the table of training machines lists."""

from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, Rule, error, warning
from overnight.jobs.view import JobView, PoolView
from overnight.machines import machine_problem
from overnight.machines.catalogue import retired_accelerators

MACHINE_MISSING = error("machine-missing", "A pool names its machine.", "1.1; API v1 protobuf (MachineSpec)")
MACHINE_TYPE = error(
    "machine-type",
    "The machine is one that Vertex AI trains on.",
    "0 rule 4, 2.1; training/configure-compute; kuds/mesozoic-labs#200",
)
ACCELERATOR_PAIR = error(
    "accelerator-pair",
    "acceleratorType and acceleratorCount are given both, or neither.",
    "0 rule 4; prefect-archive/prefect-gcp#175",
)
ACCELERATOR_TYPE = error(
    "accelerator-type",
    "The machine takes this accelerator; a machine that carries its own says so.",
    "0 rule 4, 2.1; training/configure-compute",
)
ACCELERATOR_COUNT = error(
    "accelerator-count", "The machine takes this many of them.", "0 rule 4, 2.1; training/configure-compute"
)
ACCELERATOR_RETIRED = error(
    "accelerator-retired",
    "The accelerator is still supported: K80 and P100 are not.",
    "2.1; GoogleCloudPlatform/vertex-ai-samples#213; hashicorp/terraform-provider-google#18907",
)
GPU_PARTITION = error("gpu-partition", "gpuPartitionSize goes with acceleratorCount 1.", "1.1; API v1 protobuf")
SMALL_MACHINE = warning(
    "small-machine",
    "The machine is large enough: a tiny N1 with a GPU loses logs, n1-standard-4 up to 40 % of its memory.",
    "2.1, 6.4; training/configure-compute",
)
MIXED_ACCELERATORS = warning(
    "mixed-accelerators",
    "Workers share one kind of accelerator: several must be free in one zone at the same time.",
    "2.3; general/locations",
)

_RULES: dict[str, Rule] = {
    "machine_type": MACHINE_TYPE,
    "accelerator_type": ACCELERATOR_TYPE,
    "accelerator_count": ACCELERATOR_COUNT,
}
_FIELDS = {
    "machine_type": "machineType",
    "accelerator_type": "acceleratorType",
    "accelerator_count": "acceleratorCount",
}


def machine(job: JobView, context: Context) -> Iterator[Finding]:
    """Each pool's machine, against the table."""
    for pool in job.pools:
        if pool.machine_type is None:
            where = pool.at("machineSpec", "machineType")
            yield MACHINE_MISSING.at(where, "this pool names no machine", "give one, such as n1-standard-8")
        elif (pool.accelerator is None) != (pool.accelerator_count == 0):
            given, missing = ("acceleratorCount", "acceleratorType")
            if pool.accelerator:
                given, missing = missing, given
            yield ACCELERATOR_PAIR.at(
                pool.at("machineSpec", missing), f"{given} stands without {missing}", "give both, or neither"
            )
        else:
            yield from _in_the_table(pool, context)


def _in_the_table(pool: PoolView, context: Context) -> Iterator[Finding]:
    problem = machine_problem(
        machine_type=pool.machine_type or "",
        accelerator_type=pool.accelerator,
        accelerator_count=pool.accelerator_count or None,
        today=context.today,
    )
    if problem is None:
        return
    rule = _RULES[problem.part]
    where = pool.at("machineSpec", _FIELDS[problem.part])
    if problem.part == "accelerator_type" and _is_retired(pool, context):
        rule = ACCELERATOR_RETIRED
    yield rule.at(where, problem.message, problem.remedy)


def _is_retired(pool: PoolView, context: Context) -> bool:
    if pool.accelerator in retired_accelerators():
        return True
    carried = pool.machine.accelerators if pool.machine else ()
    ends = [item.end_of_support for item in carried if item.accelerator_type == pool.accelerator]
    return any(end is not None and end <= context.today for end in ends)


def partition(job: JobView, context: Context) -> Iterator[Finding]:
    """A GPU that is cut into parts."""
    for pool in job.pools:
        if pool.machine_spec.get("gpuPartitionSize") and pool.accelerator_count != 1:
            where = pool.at("machineSpec", "gpuPartitionSize")
            yield GPU_PARTITION.at(where, "a partitioned GPU goes with acceleratorCount 1", "write acceleratorCount: 1")


def small(job: JobView, context: Context) -> Iterator[Finding]:
    """Machines that are listed and disappoint."""
    for pool in job.pools:
        where = pool.at("machineSpec", "machineType")
        if pool.machine_type == "n1-highmem-2" and pool.has_gpu:
            said = "logs can be lost on so small a machine with a GPU"
            yield SMALL_MACHINE.at(where, said, "take n1-standard-8 or larger")
        elif pool.machine_type == "n1-standard-4":
            said = "the service itself takes up to 40 % of the memory of n1-standard-4"
            yield SMALL_MACHINE.at(where, said, "take n1-highmem-4, n1-standard-8 or e2-standard-4")


def mixed(job: JobView, context: Context) -> Iterator[Finding]:
    """Accelerators of several kinds in one job."""
    kinds = sorted({pool.accelerator for pool in job.pools if pool.accelerator})
    if len(kinds) > 1:
        yield MIXED_ACCELERATORS.at(
            job.at("workerPoolSpecs"),
            f"{' and '.join(kinds)} must be free in one zone at the same time, and the slowest sets the pace",
            "use one kind of accelerator",
        )


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (machine, partition, small, mixed)
