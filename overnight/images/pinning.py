"""Image references in any YAML text, and the same text with other digests: nothing else changes by a character.

Positions come from ruamel.yaml's marks, and the text is never written by a YAML library. What counts as a reference:

- a value with a host, a path and a tag or digest, under any key: `imageUri`, `executorImageUri`, `image`, a team's own;
  also behind `docker://`, as GitHub workflows write it;
- a value with a host and a path alone, under a key that ends in `image` or `imageUri`, or in a list called `images`.

Left alone: comments, keys, block scalars, and Google's prebuilt images in `executorImageUri`, which the service takes
with `:latest` only (docs/job-rules.md, prebuilt-tag).
"""

import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.reference import Reference, parse

IMAGE_KEYS = re.compile(r"(?:.*image|.*imageuri)|images", re.IGNORECASE)
PREBUILT = re.compile(r"(us|europe|asia)-docker\.pkg\.dev/vertex-ai(-restricted)?/training/[^/]+")
"""Google's training images (vertex-facts 0 rule 18)."""
WITHOUT_HOST = re.compile(r"[a-z0-9][a-z0-9._/-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*(@.+)?|[a-z0-9][a-z0-9._/-]*@sha256:.*")
"""`postgres:16`: an image, of a registry that is not named."""
GONE = re.compile(r"([a-z0-9-]+\.)?gcr\.io/[^\s]+")
SCHEME = "docker://"


@dataclass(frozen=True)
class Place:
    """One reference in a text."""

    reference: Reference
    field: str
    """Such as `customJob.jobSpec.workerPoolSpecs[0].containerSpec.imageUri`."""
    line: int
    """From 1."""
    start: int
    """Where, in characters, tag and digest begin: behind HOST/PATH."""
    end: int


@dataclass(frozen=True)
class Doubt:
    """What is meant as an image and cannot be pinned as it is written."""

    problem: str
    field: str
    line: int


@dataclass(frozen=True)
class Found:
    """The images of one text, in its order; an anchored value is there once, however many aliases it has."""

    places: tuple[Place, ...]
    doubts: tuple[Doubt, ...]


@dataclass(frozen=True)
class _Scalar:
    value: str
    field: tuple[str | int, ...]
    line: int
    start: int
    end: int


def find(text: str, where: str) -> Found:
    """Every image in `text`; `where` is the file, for ImageError when it is no YAML mapping or list."""
    found = [item for scalar in _scalars(text, where) if (item := _image(scalar, text)) is not None]
    places = sorted((item for item in found if isinstance(item, Place)), key=lambda place: place.start)
    return Found(tuple(places), tuple(item for item in found if isinstance(item, Doubt)))


def rewrite(text: str, found: Found, digests: Mapping[Reference, str]) -> str:
    """`text` with other digests; a tag goes, also one before a digest: Vertex AI takes HOST/PATH@DIGEST."""
    for place in reversed(found.places):
        if place.reference in digests:
            text = f"{text[: place.start]}@{digests[place.reference]}{text[place.end :]}"
    return text


def _image(scalar: _Scalar, text: str) -> Place | Doubt | None:
    key = next((part for part in reversed(scalar.field) if isinstance(part, str)), "")
    named = IMAGE_KEYS.fullmatch(key.replace("_", "").replace("-", "")) is not None
    value = scalar.value.removeprefix(SCHEME)
    if key == "executorImageUri" and PREBUILT.fullmatch(value.partition(":")[0].partition("@")[0]):
        return None
    field = _dotted(scalar.field)
    try:
        reference = parse(value)
    except ImageError as error:
        return Doubt(error.sentence, field, scalar.line) if _is_meant(value, named) else None
    if reference.tag is None and reference.digest is None and not named:
        return None
    end = text.rfind(value, scalar.start, scalar.end) + len(value)
    if end < len(value):
        problem = f"{str(reference)!r} is written with escapes or over several lines; write it on one line as it is."
        return Doubt(problem, field, scalar.line)
    start = end - len(value) + len(reference.repository)
    return Place(reference, field, scalar.line, start, end)


def _is_meant(value: str, named: bool) -> bool:
    """Whether a text that is no reference was surely meant as one."""
    if re.search(r"\s|\$|\{|://", value):
        return False
    if "@sha256" in value and "/" in value:
        return True
    tagged = re.search(r"/[^/]+:[^/]+$", value) is not None
    return (GONE.fullmatch(value) is not None and (named or tagged)) or (
        named and WITHOUT_HOST.fullmatch(value) is not None
    )


def _scalars(text: str, where: str) -> Iterator[_Scalar]:
    """Values on one or several lines, without keys and block scalars, in every document of the text."""
    from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

    seen: set[int] = set()

    def walk(node: Node, field: tuple[str | int, ...]) -> Iterator[_Scalar]:
        if id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, MappingNode):
            for key, value in node.value:
                yield from walk(value, (*field, str(key.value) if isinstance(key, ScalarNode) else "?"))
        elif isinstance(node, SequenceNode):
            for position, item in enumerate(node.value):
                yield from walk(item, (*field, position))
        elif isinstance(node, ScalarNode) and node.style not in ("|", ">"):
            start, end = node.start_mark, node.end_mark
            yield _Scalar(node.value, field, end.line + 1, start.index, end.index)

    documents: list[Node] = _documents(text, where)
    if not any(isinstance(document, MappingNode | SequenceNode) for document in documents):
        said = "there is nothing in it but comments" if not documents else "this is text, not a YAML mapping or list"
        raise ImageError(said if text.strip() else "this file is empty", where=where, remedy="name a YAML file")
    try:
        for document in documents:
            yield from walk(document, ())
    except RecursionError:
        raise _too_deep(where) from None


def _documents(text: str, where: str) -> list[Any]:
    """The documents' nodes. ruamel.yaml knows no tab as white space between tokens, which YAML allows."""
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        return _composed(text)
    except RecursionError:
        raise _too_deep(where) from None
    except YAMLError as error:
        try:
            return _composed(_without_tabs(text))
        except (YAMLError, RecursionError):
            mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
            line = f" in line {mark.line + 1}" if mark is not None else ""
            said = (error.problem if isinstance(error, MarkedYAMLError) else str(error).splitlines()[0]) or "unreadable"
            raise ImageError(f"this is not YAML: {said}{line}", where=where, remedy="name a YAML file") from None


def _composed(text: str) -> list[Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import ReusedAnchorWarning

    with warnings.catch_warnings():
        # A second anchor of the same name is YAML: aliases mean the last one before them.
        warnings.simplefilter("ignore", ReusedAnchorWarning)
        return [node for node in YAML(typ="safe", pure=True).compose_all(text) if node is not None]


def _without_tabs(text: str) -> str:
    """As long as `text`, with spaces for tabs that do not indent."""
    blank = re.compile(r"^[ \t]+(?=#|\r?$)|(?<=[^ \t\r\n])[ \t]*\t[ \t]*", re.MULTILINE)
    return blank.sub(lambda tabs: " " * len(tabs[0]), text)


def _too_deep(where: str) -> ImageError:
    return ImageError("this YAML is nested too deeply to be read", where=where, remedy="name another file")


def _dotted(field: tuple[str | int, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in field)
    return text.removeprefix(".")
