"""Steps: their names, order, directories and environment."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from overnight.builds.rules.context import SCHEMA, VALIDATE, Check, Context
from overnight.forms.fields import FieldPath
from overnight.forms.findings import Finding, error

NO_STEPS = error("no-steps", "A build has at least one step.", "proto Build.steps")
STEP_NAME = error("step-without-name", "A step names the image that it runs in.", "proto BuildStep.name")
BAD_ID = error(
    "bad-id", "An id is letters, digits, '.', '_' and '-', and not '-' alone, which waitFor keeps.", VALIDATE
)
DUPLICATE_ID = error("duplicate-id", "No two steps have the same id.", VALIDATE)
WAIT_FOR = error("wait-for", "waitFor names steps that stand before, or '-' alone.", SCHEMA)
SCRIPT_ALONE = error("script-alone", "A step with script has neither entrypoint nor args.", "proto BuildStep.script")
FAILURES = error("allowed-failures", "A step allows failure, or some exit codes of 1 to 255, not both.", SCHEMA)
OUTSIDE = error("dir-outside", "A step works inside /workspace: nothing else is kept for the next one.", SCHEMA)
ENV_FORM = error("env-form", "Environment variables are NAME=VALUE.", "proto BuildStep.env")
ENV_TWICE = error("env-twice", "No environment variable is set twice in one place.", "docs/builds.md")

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)


def _steps(context: Context) -> Iterator[tuple[FieldPath, dict[str, Any]]]:
    for index, step in enumerate(context.build.steps):
        yield ("steps", index), step


def there(context: Context) -> Iterator[Finding]:
    """There are steps, and each names an image."""
    if not context.build.steps:
        yield NO_STEPS.at((), "this build has no steps", "give it at least one")
    for path, step in _steps(context):
        if not step.get("name"):
            yield STEP_NAME.at(path, "this step names no image", "give name: the image it runs in, by digest")


def named(context: Context) -> Iterator[Finding]:
    """Ids are well formed and differ."""
    seen: set[str] = set()
    for path, step in _steps(context):
        name = step.get("id", "")
        if name and not _ID.fullmatch(name):
            yield BAD_ID.at((*path, "id"), f"{name!r} is no id", "use letters, digits, '.', '_' and '-'")
        elif name in seen:
            yield DUPLICATE_ID.at((*path, "id"), f"a step before is called {name!r} too", "give each an id of its own")
        seen |= {name} - {""}


def ordered(context: Context) -> Iterator[Finding]:
    """Steps wait only for steps before them."""
    everyone = {step.get("id"): index for index, step in reversed(list(enumerate(context.build.steps)))}
    for path, step in _steps(context):
        waited = step.get("waitFor", [])
        for place, name in enumerate(waited):
            where = (*path, "waitFor", place)
            if name == "-":
                if len(waited) > 1:
                    yield WAIT_FOR.at(
                        where, "'-' means waiting for nothing, beside steps to wait for", "keep one of them"
                    )
            elif name == step.get("id"):
                yield WAIT_FOR.at(where, "this step waits for itself", "name a step before it")
            elif name not in everyone:
                known = ", ".join(str(item) for item in everyone if item) or "none"
                yield WAIT_FOR.at(where, f"no step is called {name!r}", f"ids here: {known}")
            elif everyone[name] > int(path[1]):
                yield WAIT_FOR.at(where, f"step {name!r} stands after this one", "move it before, or wait for another")


def run(context: Context) -> Iterator[Finding]:
    """A step has one way to run, one way to fail, and works in the workspace."""
    for path, step in _steps(context):
        for other in ("entrypoint", "args"):
            if step.get("script") and step.get(other):
                yield SCRIPT_ALONE.at((*path, other), f"{other} stands beside script", "keep one of them")
        codes = step.get("allowExitCodes", [])
        if step.get("allowFailure") and codes:
            said = "allowExitCodes decides and allowFailure is not read"
            yield FAILURES.at((*path, "allowFailure"), said, "keep one of them")
        for place, code in enumerate(codes):
            if not 1 <= int(code) <= 255:
                said = f"{code} is no exit code of a failure"
                yield FAILURES.at((*path, "allowExitCodes", place), said, "give 1 to 255")
        folder = PurePosixPath("/workspace", step.get("dir", ""))
        if folder.parts[:2] != ("/", "workspace") or ".." in folder.parts:
            yield OUTSIDE.at((*path, "dir"), f"{step['dir']!r} is outside of /workspace", "give a folder below it")


def environment(context: Context) -> Iterator[Finding]:
    """Variables are well formed and set once."""
    places: list[tuple[FieldPath, list[str]]] = [(("options", "env"), context.build.option("env") or [])]
    places += [((*path, "env"), step.get("env", [])) for path, step in _steps(context)]
    for path, entries in places:
        seen: set[str] = set()
        for place, entry in enumerate(entries):
            name = entry.partition("=")[0]
            if not _ENV.fullmatch(entry):
                yield ENV_FORM.at((*path, place), f"{entry!r} is no variable with a value", "write NAME=VALUE")
            elif name in seen:
                yield ENV_TWICE.at((*path, place), f"{name} is set twice", "keep one of them")
            seen.add(name)


CHECKS: tuple[Check, ...] = (there, named, ordered, run, environment)
