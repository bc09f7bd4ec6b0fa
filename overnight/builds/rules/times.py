"""Timeouts and sizes."""

from collections.abc import Iterator
from typing import Any

from overnight.builds.rules.context import SCHEMA, SUBSTITUTING, Check, Context
from overnight.forms.fields import FieldPath
from overnight.forms.findings import Finding, error

STEP_TIMEOUT = error(
    "step-timeout", "A step's timeout is not beyond the build's, which is 60 minutes if unset.", SCHEMA
)
TIMEOUT = error("timeout-range", "A timeout, and queueTtl, is more than 0 and at most 24 hours.", SCHEMA)
LIMIT = error(
    "limit",
    "300 steps, 100 args a step, 10,000 characters each; 200 substitutions, names of 100 and values of 4,000 bytes.",
    f"{SCHEMA}; {SUBSTITUTING}",
)

DEFAULT = 3600.0
"""Seconds of a build that names no timeout."""
LONGEST = 24 * 3600.0
STEPS, ARGS, ARG, SUBSTITUTIONS, KEY, VALUE = 300, 100, 10_000, 200, 100, 4_000


def _seconds(text: str) -> float:
    """A protobuf duration: `1800s`, `3.5s`."""
    return float(text.removesuffix("s"))


def timed(context: Context) -> Iterator[Finding]:
    """Timeouts can be kept."""
    build = context.build.data
    places: list[tuple[FieldPath, Any]] = [(("timeout",), build.get("timeout")), (("queueTtl",), build.get("queueTtl"))]
    places += [(("steps", index, "timeout"), step.get("timeout")) for index, step in enumerate(context.build.steps)]
    whole = _seconds(build["timeout"]) if "timeout" in build else DEFAULT
    for path, text in places:
        if text is None:
            continue
        if not 0 < _seconds(text) <= LONGEST:
            yield TIMEOUT.at(path, f"{text} is no time that a build can take", "give 1s to 86400s")
        elif path[0] == "steps" and _seconds(text) > whole:
            said = f"{text} is beyond the build's own {whole:.0f}s"
            yield STEP_TIMEOUT.at(path, said, "shorten it, or give the build more time")


def sized(context: Context) -> Iterator[Finding]:
    """Nothing is longer than the service takes."""
    steps = context.build.steps
    if len(steps) > STEPS:
        yield LIMIT.at(("steps",), f"{len(steps):,} steps are more than {STEPS}", "split the build")
    for index, step in enumerate(steps):
        args = step.get("args", [])
        if len(args) > ARGS:
            said = f"{len(args):,} args are more than {ARGS}"
            yield LIMIT.at(("steps", index, "args"), said, "move them into a script")
        for place, word in enumerate(args):
            if len(word) > ARG:
                said = f"an argument of {len(word):,} characters is longer than {ARG:,}"
                yield LIMIT.at(("steps", index, "args", place), said, "move it into a file")
    yield from _substitutions(context.build.data.get("substitutions", {}))


def _substitutions(written: dict[str, str]) -> Iterator[Finding]:
    if len(written) > SUBSTITUTIONS:
        said = f"{len(written):,} substitutions are more than {SUBSTITUTIONS}"
        yield LIMIT.at(("substitutions",), said, "remove some")
    for name, value in written.items():
        for text, most, what in ((name, KEY, "name"), (value, VALUE, "value")):
            if len(text.encode()) > most:
                said = f"a {what} of {len(text.encode()):,} bytes is longer than {most:,}"
                yield LIMIT.at(("substitutions", name), said, "shorten it")


CHECKS: tuple[Check, ...] = (timed, sized)
