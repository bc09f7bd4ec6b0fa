"""A Cloud Build file as the API reads it: YAML, then the message `cloudbuild_v1.Build`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from overnight.builds.errors import BuildError
from overnight.forms.fields import FieldPath, dotted, lines_of
from overnight.forms.findings import Finding, error

NOT_A_BUILD = error("not-a-build", "The file is one YAML mapping, no key twice.", "docs/builds.md")
OUTPUT_ONLY = error("output-only", "What the service itself fills in is left out.", "proto Build, BuildStep")
EXCLUSIVE = error(
    "exclusive-fields", "Of alternatives such as storageSource and repoSource one is given.", "API v1 protobuf (oneof)"
)
"""Found by forms.message under the same name."""

_BY_THE_SERVICE = {
    (): (
        *("name", "id", "projectId", "status", "statusDetail", "results", "createTime", "startTime", "finishTime"),
        *("sourceProvenance", "buildTriggerId", "logUrl", "timing", "approval", "warnings", "failureInfo"),
    ),
    ("steps",): ("timing", "pullTiming", "status", "exitCode"),
    ("options",): ("resolvedWorkerRelease",),
    ("artifacts", "objects"): ("timing",),
}
"""By the parent's path without positions; "Output only" in the comments of the proto (google-cloud-build 3.43)."""


@dataclass(frozen=True)
class BuildFile:
    """A build file whose form is right."""

    path: Path
    text: str = field(repr=False)
    data: dict[str, Any]
    message: Any = field(repr=False)
    """The same as google.cloud.devtools.cloudbuild_v1.Build."""
    lines: Mapping[FieldPath, int] = field(default_factory=dict, repr=False)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps as written; none when there are none."""
        found: list[dict[str, Any]] = self.data.get("steps", [])
        return found

    def option(self, name: str) -> Any:
        """A field of `options`; None when it is not set."""
        return self.data.get("options", {}).get(name)

    def line(self, path: FieldPath) -> int | None:
        """The line of a field, or of its nearest parent that is there."""
        return nearest(self.lines, path)


@dataclass(frozen=True)
class Reading:
    """What a file holds: a build, or what is wrong with its form."""

    path: Path
    build: BuildFile | None
    findings: tuple[Finding, ...]
    lines: Mapping[FieldPath, int] = field(default_factory=dict, repr=False)

    def line(self, path: FieldPath) -> int | None:
        """The line of a field, or of its nearest parent that is there."""
        return nearest(self.lines, path)


def nearest(lines: Mapping[FieldPath, int], path: FieldPath) -> int | None:
    """The line of a field, or of its nearest parent that is there."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def read_build(path: Path) -> BuildFile:
    """Read a build file; raises BuildError for the first thing that is wrong with its form, by file, line and field."""
    reading = load(path)
    if reading.build is not None:
        return reading.build
    wrong = reading.findings[0]
    line, name = reading.line(wrong.path), dotted(wrong.path)
    where = f"{path} line {line}" if line else str(path)
    raise BuildError(wrong.message, where=f"{where}, {name}" if name else where, remedy=wrong.remedy)


def load(path: Path) -> Reading:
    """A build file with everything that is wrong with its form; raises BuildError when it cannot be read at all."""
    where, remedy = str(path), "give one such as cloudbuild/pull-request.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BuildError("there is no such build file", where=where, remedy=remedy) from None
    except IsADirectoryError:
        raise BuildError("this is a folder", where=where, remedy=remedy) from None
    except UnicodeDecodeError:
        raise BuildError("this is not UTF-8 text", where=where, remedy=remedy) from None
    except OSError as problem:
        reason = (problem.strerror or "it cannot be read").lower()
        raise BuildError(reason, where=where, remedy="give this user permission to read it") from None
    return parse(path, text)


def parse(path: Path, text: str) -> Reading:
    """What the text of a build file holds; `path` is only what it is called."""
    try:
        node = YAML(typ="rt", pure=True).compose(text)
        data = YAML(typ="safe", pure=True).load(text)
        lines = dict(lines_of(node))
    # Beside its own errors, the parser lets through what int(), date() or a nesting without end raise.
    except (YAMLError, ValueError, TypeError, AttributeError, RecursionError) as problem:
        line, reason = _reason(problem)
        finding = NOT_A_BUILD.at((), f"this is not YAML: {reason}", "correct that line" if line else "correct the file")
        return Reading(path, None, (finding,))
    if not isinstance(data, dict):
        held = "this file is empty" if data is None else "a build file must be a mapping of fields"
        finding = NOT_A_BUILD.at((), held, "see cloudbuild/pull-request.yaml")
        return Reading(path, None, (finding,), lines)
    return _read(path, text, data, lines)


def _reason(problem: Exception) -> tuple[int | None, str]:
    if isinstance(problem, RecursionError):
        return None, "it is nested too deeply"
    if isinstance(problem, MarkedYAMLError) and problem.problem_mark is not None:
        line = problem.problem_mark.line + 1
        said = " ".join(str(problem.problem or problem.context or "unreadable").split())
        return line, f"{said} at line {line}"
    return None, " ".join(str(problem).split()) or "unreadable"


def _read(path: Path, text: str, data: dict[str, Any], lines: Mapping[FieldPath, int]) -> Reading:
    """Check the form field by field, then let the API's own message parse it."""
    from google.cloud.devtools.cloudbuild_v1 import Build
    from google.protobuf import json_format

    from overnight.forms.message import WRONG_VALUE, check_form

    empty = Build.pb(Build())
    form = check_form(data, empty.DESCRIPTOR)
    findings = [*form.findings, *_filled_in(data)]
    if findings:
        ordered = sorted(findings, key=lambda finding: nearest(lines, finding.path) or 0)
        return Reading(path, None, tuple(ordered), lines)
    try:
        message = Build.wrap(json_format.ParseDict(form.data, empty))
    except json_format.ParseError as problem:
        said = " ".join(str(problem).split())
        return Reading(path, None, (WRONG_VALUE.at((), said, "write it as in the API's JSON"),), lines)
    return Reading(path, BuildFile(path, text, data, message, lines), (), lines)


def _filled_in(data: dict[str, Any]) -> list[Finding]:
    """Fields that only the service sets."""
    found = []
    for parent, names in _BY_THE_SERVICE.items():
        for path, value in _at(data, parent):
            for name in names:
                if name in value:
                    said, remedy = f"{name} is filled in by the service", "remove the line"
                    found.append(OUTPUT_ONLY.at((*path, name), said, remedy))
    return found


def _at(value: Any, parent: tuple[str, ...], path: FieldPath = ()) -> list[tuple[FieldPath, dict[str, Any]]]:
    """The mappings at a path without positions, each with its full path."""
    if isinstance(value, list):
        return [found for place, item in enumerate(value) for found in _at(item, parent, (*path, place))]
    if not isinstance(value, dict):
        return []
    if not parent:
        return [(path, value)]
    return _at(value.get(parent[0]), parent[1:], (*path, parent[0]))
