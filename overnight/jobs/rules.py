"""What Vertex AI refuses although the message is well-formed, checked here before anything starts.

Numbers in brackets are rules of the API and its documentation (distributed training, CustomJob reference).
"""

import re
from collections.abc import Iterator
from typing import Any

from overnight.jobs.document import FieldPath
from overnight.jobs.message import Problem

MAX_POOLS = 4
MAX_ENV = 100
MAX_ARGS_CHARACTERS = 100_000
MAX_DISPLAY_NAME = 128

RESERVED_ENV = re.compile(r"^(OVERNIGHT_|AIP_|CLOUD_ML_|CLUSTER_SPEC$|TF_CONFIG$)")
"""Names that Vertex AI or Overnight set."""

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
)
"""CustomJob fields that Vertex AI writes (proto comments of aiplatform v1)."""

_ENV_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


def broken_rules(job: dict[str, Any], path: FieldPath = ("customJob",)) -> Iterator[Problem]:
    """Each rule that the JSON form of a CustomJob breaks; the form itself must be right already."""
    for name in OUTPUT_ONLY:
        if name in job:
            yield Problem((*path, name), "Vertex AI writes this field itself", "remove it")
    display = job.get("displayName", "")
    if not display or len(display) > MAX_DISPLAY_NAME:
        yield Problem((*path, "displayName"), f"a job needs a name of 1 to {MAX_DISPLAY_NAME} characters", "give one")
    if "jobSpec" not in job:
        yield Problem((*path, "jobSpec"), "this field is missing", "add it with workerPoolSpecs")
        return
    spec_path = (*path, "jobSpec")
    yield from _scheduling(job["jobSpec"].get("scheduling", {}), (*spec_path, "scheduling"))
    yield from _pools(job["jobSpec"].get("workerPoolSpecs", []), (*spec_path, "workerPoolSpecs"))


def _scheduling(scheduling: dict[str, Any], path: FieldPath) -> Iterator[Problem]:
    if scheduling.get("disableRetries") and scheduling.get("restartJobOnWorkerRestart"):
        yield Problem(
            (*path, "disableRetries"),
            "disableRetries turns restartJobOnWorkerRestart off, and both are true",
            "set one of them to false",
        )


def _pools(pools: list[dict[str, Any]], path: FieldPath) -> Iterator[Problem]:
    if not pools or not pools[0]:
        yield Problem(path, "worker pool 0 is missing", "describe the primary replica there")
        return
    if len(pools) > MAX_POOLS:
        yield Problem(path, f"there are {len(pools)} pools, and {MAX_POOLS} at most", "remove some")
    if replica_count(pools[0]) != 1:
        yield Problem(
            (*path, 0, "replicaCount"), "pool 0 holds exactly one replica", "write 1, and put more replicas in pool 1"
        )
    for position, pool in enumerate(pools):
        if pool:
            yield from _pool(pool, (*path, position))


def replica_count(pool: dict[str, Any]) -> int:
    """Replicas of a pool in JSON form: 0 for an empty placeholder, 1 where nothing is said."""
    return int(pool.get("replicaCount", 1)) if pool else 0


def _pool(pool: dict[str, Any], path: FieldPath) -> Iterator[Problem]:
    if replica_count(pool) < 1:
        yield Problem((*path, "replicaCount"), "a pool needs at least one replica", "write 1, or {} for no pool")
    if "containerSpec" not in pool and "pythonPackageSpec" not in pool:
        yield Problem(path, "this pool runs nothing", "add containerSpec with command and args")
    for task in ("containerSpec", "pythonPackageSpec"):
        if task in pool:
            yield from _task(pool[task], (*path, task))


def _task(task: dict[str, Any], path: FieldPath) -> Iterator[Problem]:
    args = task.get("args", [])
    if sum(len(argument) for argument in args) > MAX_ARGS_CHARACTERS:
        yield Problem((*path, "args"), f"args hold over {MAX_ARGS_CHARACTERS:,} characters", "shorten them")
    variables = task.get("env", [])
    if len(variables) > MAX_ENV:
        yield Problem((*path, "env"), f"there are {len(variables)} variables, and {MAX_ENV} at most", "remove some")
    seen: set[str] = set()
    for position, variable in enumerate(variables):
        name = variable.get("name", "")
        where = (*path, "env", position, "name")
        if not _ENV_NAME.match(name):
            yield Problem(where, f"{name!r} is not a variable's name", "use letters, digits and _")
        elif RESERVED_ENV.match(name):
            yield Problem(where, f"{name} is set for you", "remove it, or choose another name")
        elif name in seen:
            yield Problem(where, f"{name} is there twice", "keep one")
        seen.add(name)
