"""Build only some images of a file: the steps of each are named after it, all others are shared."""

from collections.abc import Mapping, Sequence
from typing import Any

from overnight.builds.errors import BuildError
from overnight.builds.substitutions import expand

ALL = "all"


def image_names(build: Any, values: Mapping[str, str]) -> list[str]:
    """Names of the images that a protobuf Build pushes: the last part of HOST/PATH/NAME:TAG."""
    expanded = [expand(text, values, dynamic=True, loose=True) for text in build.images]
    return [text.rpartition("/")[2].partition("@")[0].partition(":")[0] for text in expanded]


def select(build: Any, wanted: Sequence[str], values: Mapping[str, str], where: str) -> Any:
    """The Build without the other images: their entries in `images`, their steps, and waiting for those.

    No name, or `all`, is every image. Raises BuildError for a name that is none of the file's images.
    """
    names = image_names(build, values)
    if unknown := [name for name in wanted if name not in (*names, ALL)]:
        known = f"give one of: {', '.join(names)}" if names else "this file has no `images`"
        raise BuildError(f"{unknown[0]!r} is none of the images that are built here", where=where, remedy=known)
    if not wanted or ALL in wanted:
        return build
    selected = type(build)()
    selected.CopyFrom(build)
    others = set(names) - set(wanted)
    dropped = {step.id for step in build.steps if owner(step.id, names) in others}
    kept = [step for step in selected.steps if step.id not in dropped]
    for step in kept:
        _stop_waiting(step, dropped)
    images = [text for text, name in zip(build.images, names, strict=True) if name in wanted]
    del selected.steps[:], selected.images[:]
    selected.steps.extend(kept)
    selected.images.extend(images)
    return selected


def owner(step_id: str, names: Sequence[str]) -> str | None:
    """The image that a step belongs to: `trainer-cpu` for `trainer-cpu-build`; None for a shared step."""
    fitting = [name for name in names if step_id == name or step_id.startswith(f"{name}-")]
    return max(fitting, key=len, default=None)


def _stop_waiting(step: Any, dropped: set[str]) -> None:
    left = [name for name in step.wait_for if name not in dropped]
    if step.wait_for and not left:
        left = ["-"]  # an empty list would mean: wait for every step before
    del step.wait_for[:]
    step.wait_for.extend(left)
