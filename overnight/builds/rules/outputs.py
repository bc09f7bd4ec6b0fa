"""What a build leaves behind: images, objects, tags; and the volumes between its steps."""

import posixpath
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from overnight.builds.rules.context import VALIDATE, Check, Context
from overnight.builds.substitutions import expand
from overnight.forms.fields import FieldPath
from overnight.forms.findings import Finding, error

NOT_BUILT = error("image-not-built", "Every image to be pushed is built, or tagged, by a step.", "proto Build.images")
DIFFERENT = error("images-differ", "images and artifacts.images, where both are given, are the same.", VALIDATE)
IMAGE_NAME = error(
    "image-name", "An image's name is HOST/PATH:TAG, without spaces, seen or unseen.", "OCI distribution"
)
ARTIFACTS = error(
    "artifact-paths", "Objects go to gs://…, from paths that are given once and hold no spaces.", VALIDATE
)
TAGS = error("build-tags", "At most 64 tags of a build: letters, digits, '.', '_' and '-', 128 at most.", VALIDATE)
VOLUME = error(
    "volume", "A volume is used by two steps or more, at an absolute path of its own.", "proto Volume; validate.go"
)

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_TAGS = 64
_RESERVED = ("/workspace", "/builder/home", "/var/run/docker.sock")
_BUILDERS = ("docker", "podman", "buildah")


def images(context: Context) -> Iterator[Finding]:
    """What is pushed can be."""
    data = context.build.data
    top, inside = data.get("images", []), data.get("artifacts", {}).get("images", [])
    if top and inside and top != inside:
        said = "artifacts.images differs from images"
        yield DIFFERENT.at(("artifacts", "images"), said, "keep one of the two lists")
        return
    field: FieldPath = ("images",) if top else ("artifacts", "images")
    made = list(_built(context))
    for place, written in enumerate(top or inside):
        path, name = (*field, place), expand(written, context.values, loose=True)
        if (wrong := _misnamed(name, written)) is not None:
            yield IMAGE_NAME.at(path, wrong, "write HOST/PATH:TAG")
        elif not any(pattern.fullmatch(name) for pattern in made):
            yield NOT_BUILT.at(path, f"no step builds {written}", "build it with --tag, or remove it")


def _misnamed(name: str, written: str) -> str | None:
    """What is wrong with an image's name."""
    from overnight.images.errors import ImageError
    from overnight.images.reference import parse

    for letter in name:
        if letter.isspace() or unicodedata.category(letter) in ("Cf", "Cc"):
            return f"{written!r} holds {unicodedata.name(letter, 'a control character').lower()}"
    try:
        parse(name)
    except ImageError as problem:
        return problem.problem
    return None


def _built(context: Context) -> Iterator[re.Pattern[str]]:
    """The names that steps give to images; what a shell fills in stands for anything."""
    for command in context.commands:
        if command.name not in _BUILDERS:
            continue
        if {"build", "bud"} & set(command.words):
            names = command.values("--tag", "-t")
        elif "tag" in command.words[:3] and len(command.words) > 2:
            names = [command.words[-1]]
        else:
            continue
        for name in names:
            parts = re.split(r"(\$\{?[A-Za-z0-9_]+\}?)", name)
            yield re.compile("".join(".*" if part.startswith("$") else re.escape(part) for part in parts))


def objects(context: Context) -> Iterator[Finding]:
    """Objects have a place, and paths."""
    held = context.build.data.get("artifacts", {}).get("objects")
    if held is None:
        return
    at: FieldPath = ("artifacts", "objects")
    if not held.get("location", "").startswith("gs://"):
        yield ARTIFACTS.at((*at, "location"), "the location is not in Cloud Storage", "write gs://BUCKET/FOLDER/")
    if not held.get("paths"):
        yield ARTIFACTS.at((*at, "paths"), "there are no paths", "name the files to be kept")
    seen: set[str] = set()
    for place, path in enumerate(held.get("paths", [])):
        if re.search(r"\s", path) or not path:
            yield ARTIFACTS.at((*at, "paths", place), f"{path!r} is empty or holds spaces", "give one path an item")
        elif path in seen:
            yield ARTIFACTS.at((*at, "paths", place), f"{path} is named twice", "keep one of them")
        seen.add(path)


def tags(context: Context) -> Iterator[Finding]:
    """Tags of the build."""
    written = context.build.data.get("tags", [])
    if len(written) > _TAGS:
        yield TAGS.at(("tags",), f"{len(written):,} tags are more than {_TAGS}", "remove some")
    for place, tag in enumerate(written):
        # Empty ones, as of a branch that is none, are dropped by the service.
        name = expand(tag, context.values, loose=True)
        if name and not _TAG.fullmatch(name):
            yield TAGS.at(("tags", place), f"{tag!r} is no tag", "use letters, digits, '.', '_' and '-'")


def volumes(context: Context) -> Iterator[Finding]:
    """Volumes are shared, and in nobody's way."""
    shared = [volume.get("name", "") for volume in context.build.option("volumes") or []]
    own = Counter(volume.get("name", "") for step in context.build.steps for volume in step.get("volumes", []))
    lists: list[tuple[FieldPath, list[dict[str, str]]]] = [
        (("options", "volumes"), context.build.option("volumes") or [])
    ]
    lists += [(("steps", index, "volumes"), step.get("volumes", [])) for index, step in enumerate(context.build.steps)]
    for field, listed in lists:
        seen: set[str] = set()
        for place, volume in enumerate(listed):
            path, name = (*field, place), volume.get("name", "")
            where = posixpath.normpath(volume.get("path", ""))
            steps = own[name] if field[0] == "steps" else len(context.build.steps)
            if not where.startswith("/") or where in _RESERVED or where.startswith("/cloudbuild/"):
                remedy = "give an absolute path of its own"
                yield VOLUME.at((*path, "path"), f"{volume.get('path', '')!r} cannot hold a volume", remedy)
            elif {name, where} & seen or (field[0] == "steps" and name in shared):
                yield VOLUME.at(path, f"the volume {name!r} is there twice", "keep one of them")
            elif steps < 2:
                yield VOLUME.at(path, f"only one step uses the volume {name!r}", "use it in two steps, or remove it")
            seen |= {name, where}


CHECKS: tuple[Check, ...] = (images, objects, tags, volumes)
