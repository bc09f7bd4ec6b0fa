"""Environment variables and arguments: limits, names, and what the service sets itself."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.document import FieldPath
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.rules.image_variable import VARIABLE
from overnight.jobs.view import JobView, PoolView

MAX_ENV = 100
MAX_ARGS_CHARACTERS = 100_000

ENV_LIMIT = error("env-limit", "A task has 100 variables at most.", "0 rule 17; API v1 protobuf")
ENV_NAME = error("env-name", "A variable's name has letters, digits and _.", "0 rule 17; API v1 protobuf (EnvVar)")
ENV_TWICE = error("env-twice", "A variable stands there once.", "0 rule 17")
ENV_RESERVED = error(
    "env-reserved",
    "TF_CONFIG, CLUSTER_SPEC and what begins with AIP_, CLOUD_ML_ or OVERNIGHT_ is set for you.",
    "3, 7 (d); training/distributed-training",
)
ENV_RANK = error(
    "env-rank",
    "RANK, WORLD_SIZE, MASTER_ADDR and their like are not set by hand in a job of several machines.",
    "3, 7 (a); Lightning-AI/pytorch-lightning#13374; cellarium-ai/cellarium-ml#56; Snapchat/GiGL#217",
)
ARGS_LIMIT = error("args-limit", "Arguments hold 100,000 characters at most.", "0 rule 17; training/create-custom-job")
UNKNOWN_REFERENCE = warning(
    "unknown-reference",
    "$(NAME) in command, args and env names a variable that is there: an unknown one stays as it is.",
    "0 rule 17; API v1 protobuf (ContainerSpec)",
)

ALLOWED = (VARIABLE, "OVERNIGHT_DECODER", "OVERNIGHT_SIMD")
"""The image may be repeated (rules.image_variable); the other two tell the trainer's native extension to leave pictures
to libjpeg, and to use plain instructions."""
RESERVED = re.compile(r"OVERNIGHT_.*|AIP_.*|CLOUD_ML_.*|CLUSTER_SPEC|TF_CONFIG|TPU_CONFIG|TPU_NODE_NAME")
"""Names that Vertex AI or Overnight set."""
RANKS = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "LOCAL_RANK", "NODE_RANK", "LOCAL_WORLD_SIZE")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REFERENCE = re.compile(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def limits(job: JobView, context: Context) -> Iterator[Finding]:
    """How much there may be."""
    for pool in job.pools:
        args, variables = pool.task.get("args", []), pool.task.get("env", [])
        where = pool.at(pool.task_name or "")
        if sum(len(argument) for argument in args) > MAX_ARGS_CHARACTERS:
            said = f"args hold over {MAX_ARGS_CHARACTERS:,} characters"
            yield ARGS_LIMIT.at((*where, "args"), said, "put them into a file in the bucket or the image")
        if len(variables) > MAX_ENV:
            said = f"there are {len(variables)} variables, and {MAX_ENV} at most"
            yield ENV_LIMIT.at((*where, "env"), said, "remove some, or put them into a file")


def names(job: JobView, context: Context) -> Iterator[Finding]:
    """Each variable's name."""
    for pool in job.pools:
        seen: set[str] = set()
        for position, variable in enumerate(pool.task.get("env", [])):
            name = variable.get("name", "")
            where = pool.at(pool.task_name or "", "env", position, "name")
            yield from _name(job, name, where)
            if name in seen:
                yield ENV_TWICE.at(where, f"{name} is there twice", "keep one")
            seen.add(name)


def _name(job: JobView, name: str, where: FieldPath) -> Iterator[Finding]:
    if not _NAME.fullmatch(name):
        yield ENV_NAME.at(where, f"{name!r} is not a variable's name", "use letters, digits and _")
    elif RESERVED.fullmatch(name) and name not in ALLOWED:
        reason = "Vertex AI sets it for each replica, in its own words"
        if name.startswith("OVERNIGHT_"):
            reason = "Overnight sets it"
        yield ENV_RESERVED.at(where, f"{name} is set for you: {reason}", "remove it, or choose another name")
    elif name in RANKS and job.worker_replicas > 1:
        yield ENV_RANK.at(
            where,
            f"every replica of the pool would have the same {name}; Vertex AI's own is undocumented, one a machine",
            "remove it: trainer.launch derives the process group from CLUSTER_SPEC",
        )


def references(job: JobView, context: Context) -> Iterator[Finding]:
    """`$(NAME)` is filled in from the task's own variables and the service's."""
    for pool in job.pools:
        known = {variable.get("name") for variable in pool.task.get("env", [])}
        for where, text in _texts(pool):
            for name in _REFERENCE.findall(text):
                if name not in known and not RESERVED.fullmatch(name) and name not in RANKS:
                    said = f"$({name}) stays as it is: there is no variable {name}"
                    yield UNKNOWN_REFERENCE.at(where, said, "add it to env, or write $$(…) when it is meant so")


def _texts(pool: PoolView) -> Iterator[tuple[FieldPath, str]]:
    for field in ("command", "args"):
        for position, text in enumerate(pool.task.get(field, [])):
            yield pool.at(pool.task_name or "", field, position), text


CHECKS: tuple[Check, ...] = (limits, names, references)
CLOUD_CHECKS: tuple[Check, ...] = ()
