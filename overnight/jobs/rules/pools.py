"""The order and the size of worker pools: pool 0 leads, 1 works, 2 serves parameters or reduces, 3 evaluates."""

from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView

MAX_POOLS = 4
MAX_DISPLAY_NAME = 128
MAX_LABEL = 64
OUTPUT_ONLY = (
    "name",
    "state",
    "createTime",
    "startTime",
    "endTime",
    "updateTime",
    "error",
    "webAccessUris",
    "satisfiesPzs",
    "satisfiesPzi",
    "trials",
)
"""Fields of CustomJob and HyperparameterTuningJob that Vertex AI writes (proto comments of aiplatform v1)."""

OUTPUT_FIELD = error("output-only", "Fields that Vertex AI writes are not in a spec.", "1.1; API v1 protobuf")
DISPLAY_NAME = error("display-name", "A job has a name of 1 to 128 characters.", "1.1; API v1 protobuf")
JOB_SPEC = error("job-spec", "A job says what it runs: jobSpec, or trialJobSpec when it is tuned.", "1.1, 1.6")
LABELS = error(
    "labels",
    "Labels have 64 characters at most: lower-case letters, digits, - and _.",
    "1.1; API v1 protobuf (CustomJob)",
)
POOL_0_MISSING = error(
    "pool-0-missing", "Pool 0, the primary replica, is there.", "0 rule 1; training/distributed-training"
)
TOO_MANY_POOLS = error("too-many-pools", "There are 4 pools at most.", "0 rule 1; training/distributed-training")
POOL_0_REPLICAS = error(
    "pool-0-replicas",
    "Pool 0 holds exactly one replica; more of the same go to pool 1.",
    "0 rule 2; training/distributed-training",
)
POOL_REPLICAS = error("pool-replicas", "A pool holds at least one replica, or is {}.", "0 rule 1; API v1 protobuf")
POOL_TASK = error("pool-task", "A pool runs a containerSpec or a pythonPackageSpec.", "0 rule 3; API v1 protobuf")
POOL_2_GPU = warning(
    "pool-2-accelerator",
    "Pool 2 holds parameter servers or reducers, which use no accelerator; workers belong into pool 1.",
    "0 rule 1, 1.3; training/distributed-training",
)
SEVERAL_EVALUATORS = warning(
    "several-evaluators", "Pool 3 holds one evaluator: TensorFlow expects no more.", "training/distributed-training"
)


def message_fields(job: JobView, context: Context) -> Iterator[Finding]:
    """What stands around the pools."""
    for name in OUTPUT_ONLY:
        if name in job.data:
            yield OUTPUT_FIELD.at((*job.path, name), "Vertex AI writes this field itself", "remove it")
    display = job.data.get("displayName", "")
    if not display or len(display) > MAX_DISPLAY_NAME:
        where = (*job.path, "displayName")
        yield DISPLAY_NAME.at(where, f"a job needs a name of 1 to {MAX_DISPLAY_NAME} characters", "give one")
    for name, value in job.data.get("labels", {}).items():
        if not (name and _is_label(name) and _is_label(value)):
            yield LABELS.at((*job.path, "labels", name), f"{name}: {value!r} is no label", "write it in lower case")
    if job.spec_field not in job.data:
        yield JOB_SPEC.at(job.spec_path, "this field is missing", "add it with workerPoolSpecs")


def _is_label(text: str) -> bool:
    """Letters of any alphabet, none of them upper-case."""
    return len(text) <= MAX_LABEL and all(
        character in "-_" or character.isdigit() or (character.isalpha() and character == character.lower())
        for character in text
    )


def pool_order(job: JobView, context: Context) -> Iterator[Finding]:
    """Which pools there are."""
    if job.spec_field not in job.data:
        return
    where = job.at("workerPoolSpecs")
    if not job.all_pools or not job.all_pools[0].data:
        yield POOL_0_MISSING.at(where, "worker pool 0 is missing", "describe the primary replica there")
    elif job.all_pools[0].replicas != 1:
        found = job.all_pools[0].replicas
        yield POOL_0_REPLICAS.at(
            job.all_pools[0].at("replicaCount"),
            f"pool 0 holds exactly one replica, the primary, and this asks for {found}",
            f"write 1, and put the other {found - 1} in pool 1" if found > 1 else "write 1",
        )
    if len(job.all_pools) > MAX_POOLS:
        said = f"there are {len(job.all_pools)} pools, and {MAX_POOLS} at most"
        yield TOO_MANY_POOLS.at(where, said, "give one pool more replicas: a pool is a role, not a machine")


def each_pool(job: JobView, context: Context) -> Iterator[Finding]:
    """What every pool must have."""
    for pool in job.pools:
        if pool.replicas < 1 and pool.index > 0:
            said = "a pool needs at least one replica"
            yield POOL_REPLICAS.at(pool.at("replicaCount"), said, "write 1, or {} for no pool")
        if pool.task_name is None:
            yield POOL_TASK.at(pool.path, "this pool runs nothing", "add containerSpec with command and args")


def later_pools(job: JobView, context: Context) -> Iterator[Finding]:
    """Pools 2 and 3 have roles of their own."""
    for pool in job.pools:
        if pool.index == 2 and (pool.has_gpu or pool.is_tpu) and not pool.is_reduction_server:
            yield POOL_2_GPU.at(
                pool.at("machineSpec", "acceleratorType"),
                "pool 2 holds parameter servers or reducers, which use no accelerator and take no rank",
                "put workers in pool 1, as replicas; use {} for pools that you do not need",
            )
        if pool.index == 3 and pool.replicas > 1 and not pool.is_reduction_server:
            yield SEVERAL_EVALUATORS.at(
                pool.at("replicaCount"), "pool 3 holds evaluators, and TensorFlow expects one at most", "write 1"
            )


CHECKS: tuple[Check, ...] = (message_fields, pool_order, each_pool)
CLOUD_CHECKS: tuple[Check, ...] = (later_pools,)
