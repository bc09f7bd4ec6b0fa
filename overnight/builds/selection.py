"""Build only some images of a file: the steps of each are named after it, all others are shared."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from overnight.builds.errors import BuildError
from overnight.builds.file import BuildFile
from overnight.builds.substitutions import expand

ALL = "all"


def image_names(build: BuildFile, values: Mapping[str, str]) -> list[str]:
    """Names of the images that a build pushes: the last part of HOST/PATH/NAME:TAG."""
    expanded = [expand(text, values, dynamic=True, loose=True) for text in build.data.get("images", [])]
    return [text.rpartition("/")[2].partition("@")[0].partition(":")[0] for text in expanded]


def select(build: BuildFile, wanted: Sequence[str], values: Mapping[str, str]) -> BuildFile:
    """The build without the other images: their entries in `images`, their steps, and shared steps that wait for those.

    A shared step that names steps of several images, such as the one that writes the release, is about all of them.
    No name, or `all`, is every image. Raises BuildError for a name that is none of the file's images.
    """
    names = image_names(build, values)
    if unknown := [name for name in wanted if name not in (*names, ALL)]:
        known = f"give one of: {', '.join(names)}" if names else "this file has no `images`"
        raise BuildError(
            f"{unknown[0]!r} is none of the images that are built here", where=str(build.path), remedy=known
        )
    if not wanted or ALL in wanted:
        return build
    others = set(names) - set(wanted)
    dropped: set[str | None] = set()
    for step in build.steps:  # a step waits only for earlier ones
        mine = owner(step.get("id", ""), names)
        if mine in others or (mine is None and dropped & set(step.get("waitFor", []))):
            dropped.add(step.get("id"))
    data = copy.deepcopy(build.data)
    data["images"] = [text for text, name in zip(data["images"], names, strict=True) if name in wanted]
    data["steps"] = [_without(step, dropped) for step in data["steps"] if step.get("id") not in dropped]
    return replace(build, data=data, message=_message(build.message, data))


def owner(step_id: str, names: Sequence[str]) -> str | None:
    """The image that a step belongs to: `trainer-cpu` for `trainer-cpu-build`; None for a shared step."""
    fitting = [name for name in names if step_id == name or step_id.startswith(f"{name}-")]
    return max(fitting, key=len, default=None)


def _without(step: dict[str, Any], dropped: set[str | None]) -> dict[str, Any]:
    """The step waiting only for what is still there."""
    if not step.get("waitFor"):
        return step
    left = [name for name in step["waitFor"] if name not in dropped]
    return {**step, "waitFor": left or ["-"]}  # an empty list would mean: wait for every step before


def _message(message: Any, data: dict[str, Any]) -> Any:
    from google.protobuf import json_format

    kind = type(message)
    return kind.wrap(json_format.ParseDict(data, kind.pb(kind())))
