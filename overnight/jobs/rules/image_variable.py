"""OVERNIGHT_IMAGE: what a container is told about the image that it was started from, so that the trainer can compare.

A container cannot see its own digest. The job spec pins it, submission passes it on, and the trainer holds it against
CLUSTER_SPEC and against what is written inside the image (docs/formats.md, "The image of a run").
"""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error
from overnight.jobs.view import JobView, PoolView

VARIABLE = "OVERNIGHT_IMAGE"
IMAGE_VARIABLE = error(
    "image-variable",
    "OVERNIGHT_IMAGE is set for you; a spec that sets it repeats the container's own imageUri with its digest.",
    "docs/formats.md",
)

_PINNED = re.compile(r"[a-z0-9._-]+(:[0-9]+)?(/[a-z0-9._-]+)*(:\w[\w.-]{0,127})?@sha256:[0-9a-f]{64}", re.ASCII)
"""What the trainer reads, too (trainer/image.py)."""


def is_pinned(reference: str) -> bool:
    """Whether a reference ends in a whole digest."""
    return _PINNED.fullmatch(reference) is not None


def image_variable(pool: PoolView) -> dict[str, str]:
    """What submission adds to the pool's env: its image where that is pinned and the spec does not say it itself."""
    said = any(item.get("name") == VARIABLE for item in pool.task.get("env", []))
    return {} if said or not is_pinned(pool.image) else {VARIABLE: pool.image}


def repeats_the_image(job: JobView, context: Context) -> Iterator[Finding]:
    """Each OVERNIGHT_IMAGE that a spec sets."""
    for pool in job.pools:
        for position, variable in enumerate(pool.task.get("env", [])):
            if variable.get("name") != VARIABLE:
                continue
            value = variable.get("value", "")
            where = pool.at(pool.task_name or "", "env", position, "value")
            if value != pool.image:
                own = pool.image or "no image"
                said = f"{VARIABLE} says {value or 'nothing'}, and the container is started from {own}"
                yield IMAGE_VARIABLE.at(where, said, "remove it: submission adds the pinned imageUri")
            elif not is_pinned(value):
                said = f"{VARIABLE} says {value or 'nothing'}: without a whole digest the trainer cannot compare"
                yield IMAGE_VARIABLE.at(where, said, "pin imageUri by @sha256:… and remove the variable")


CHECKS: tuple[Check, ...] = (repeats_the_image,)
CLOUD_CHECKS: tuple[Check, ...] = ()
