"""From a container's specification to a process: argument list and environment."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from overnight.errors import OvernightError
from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.messages import CustomJob

_REFERENCE = re.compile(r"\$(\$?)\(([A-Za-z_][A-Za-z0-9_]*)\)")

INHERITED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
    "TMPDIR",
    "TZ",
    "VIRTUAL_ENV",
)
"""What a process here stands for an image has of this machine's environment; nothing else leaks in."""

IMAGE_VARIABLE = "OVERNIGHT_IMAGE"
"""A job tells its containers their image by it. A process of this machine runs in none, and is not told otherwise."""

_PYTHON = re.compile(r"^python(3(\.\d+)?)?$")


class NotLocal(OvernightError):
    """The job cannot run as processes of this machine."""


@dataclass(frozen=True)
class Command:
    """One process to start."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    cleanup: tuple[str, ...] = ()
    """What is run, in the same environment, once the process has ended, however it ended."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$(NAME)` as Vertex AI does: unknown names stay, `$$(NAME)` becomes `$(NAME)`."""

    def replaced(match: re.Match[str]) -> str:
        escaped, name = match.groups()
        return f"$({name})" if escaped else variables.get(name, match.group())

    return _REFERENCE.sub(replaced, text)


def container_command(job: CustomJob, replica: ReplicaName, service: Mapping[str, str]) -> Command:
    """The process of `replica`; `service` holds the variables that Vertex AI sets.

    `python` means this Python, so the job runs with what is installed here. Raises NotLocal when nothing
    but an image could say what to run.
    """
    pool = job.job_spec.worker_pool_specs[replica.pool]
    where = f"jobSpec.workerPoolSpecs[{replica.pool}]"
    if pool.WhichOneof("task") != "container_spec":
        raise NotLocal("a pythonPackageSpec needs its executor image", where=where, remedy="use containerSpec.command")
    container = pool.container_spec
    if not container.command:
        raise NotLocal(
            "without command the image's entry point would run, and there is no image here",
            where=f"{where}.containerSpec",
            remedy="write the command, such as ['python', '-m', 'trainer.launch']",
        )
    variables = dict(service)
    for variable in container.env:
        variables[variable.name] = expand(variable.value, variables)
    arguments = [expand(argument, variables) for argument in (*container.command, *container.args)]
    if _PYTHON.match(arguments[0]):
        arguments[0] = sys.executable
    variables.pop(IMAGE_VARIABLE, None)
    return Command(tuple(arguments), {**_inherited(os.environ), **variables})


def _inherited(environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: environment[name] for name in INHERITED if name in environment}
    # Log lines are read while the process runs; images for training set this too.
    return {"PYTHONUNBUFFERED": "1", **kept}
