"""Judge a build file: Cloud Build's rules, then the house's own (policies/cloudbuild), without asking the cloud."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.builds.commands import Command, commands_of
from overnight.builds.errors import BuildError
from overnight.builds.file import NOT_A_BUILD, BuildFile, Reading, load
from overnight.builds.given import BUILT_IN_VALUES, TRIGGERS
from overnight.builds.rules import CHECKS
from overnight.builds.rules.context import Context
from overnight.builds.substitutions import values_of
from overnight.forms.fields import FieldPath
from overnight.forms.findings import Finding as BuildFinding
from overnight.policies.policies import Policies, folders

_PART = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")


@dataclass(frozen=True)
class Report:
    """What was found in one file."""

    reading: Reading
    findings: tuple[BuildFinding, ...]

    @property
    def path(self) -> Path:
        """The file."""
        return self.reading.path

    def line(self, finding: BuildFinding) -> int | None:
        """The line of a finding's field, or of its nearest parent."""
        return self.reading.line(finding.path)


def files_in(places: Iterable[Path]) -> list[Path]:
    """The files, and the *.yaml files of the folders, in that order; raises BuildError for a folder without any."""
    found: list[Path] = []
    for place in places:
        if not place.is_dir():
            found.append(place)
            continue
        inside = sorted(place.glob("*.yaml"))
        if not inside:
            raise BuildError("there is no *.yaml file here", where=str(place), remedy="give a folder with build files")
        found.extend(inside)
    return found


def check_file(path: Path, given: Mapping[str, str] | None = None) -> Report:
    """Judge one file; one that is no build at all is a finding too."""
    try:
        reading = load(path)
    except BuildError as error:
        finding = NOT_A_BUILD.at((), error.problem, error.remedy or "see docs/builds.md")
        return Report(Reading(path, None, (finding,)), (finding,))
    if reading.build is None:
        return Report(reading, reading.findings)
    return Report(reading, tuple(check(reading.build, given)))


def check(build: BuildFile, given: Mapping[str, str] | None = None, root: Path | None = None) -> list[BuildFinding]:
    """Everything that is wrong with a build whose form is right, in the order of its lines.

    `given` is what the trigger passes, the names of infra's triggers when left out. `root` is the repository that the
    build works on, the one that holds the file when left out; outside of any, files that it names are not looked for.
    """
    passed = TRIGGERS if given is None else given
    values = values_of(build, {**BUILT_IN_VALUES, **passed})
    root = repository_of(build.path) if root is None else root
    commands = tuple(commands_of(build, values, root))
    context = Context(build, passed, values, commands, root)
    found = [finding for check_one in CHECKS for finding in check_one(context)]
    found += _policies_say(build, values, commands)
    return sorted(dict.fromkeys(found), key=lambda finding: (build.line(finding.path) or 0, finding.rule))


def repository_of(path: Path) -> Path | None:
    """The folder with the Git repository that holds a file."""
    return next((folder for folder in path.resolve().parents if (folder / ".git").exists()), None)


def _policies_say(build: BuildFile, values: Mapping[str, str], commands: tuple[Command, ...]) -> Iterator[BuildFinding]:
    data = {"substitutions": dict(values), "commands": [_facts(command) for command in commands]}
    for finding in _policies().judge(build.data, data=data):
        severity: Any = "error" if finding.level == "deny" else "warning"
        yield BuildFinding(
            finding.id, severity, field_path(finding.address), _one_line(finding.problem), _one_line(finding.remedy)
        )


def _one_line(text: str) -> str:
    """A rule repeats what stands in the file, which may have line ends."""
    return " ".join(text.split())


@functools.cache
def _policies() -> Policies:
    return Policies.load(folders("cloudbuild"))


def _facts(command: Command) -> dict[str, Any]:
    """A command as the policies read it."""
    return {
        "step": command.step,
        "address": address(command.path),
        "words": list(command.words),
        "environment": dict(command.environment),
        "piped": command.piped,
    }


def address(path: FieldPath) -> str:
    """`steps[0].args[1]`, which field_path takes apart again."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".") or "build"


def field_path(text: str) -> FieldPath:
    """The path of a policy's address; `build` is the file as a whole."""
    if text == "build":
        return ()
    return tuple(int(part[1]) if part[1] else part[2] for part in _PART.finditer(text))
