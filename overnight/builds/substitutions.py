"""Cloud Build's substitutions: what a file refers to, and what it reads as once they are filled in.

Source of all rules here: Cloud Build's pages "Substituting variable values" and "Using payload bindings and bash
parameter expansions in substitutions"; where these are silent, subst.go of cloud-build-local.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from overnight.builds.errors import BuildError
from overnight.builds.file import BuildFile
from overnight.forms.fields import FieldPath

BUILT_IN = frozenset(
    {
        *("PROJECT_ID", "PROJECT_NUMBER", "BUILD_ID", "LOCATION"),
        *("TRIGGER_NAME", "TRIGGER_BUILD_CONFIG_PATH", "SERVICE_ACCOUNT", "SERVICE_ACCOUNT_EMAIL"),
        *("COMMIT_SHA", "REVISION_ID", "SHORT_SHA", "REPO_NAME", "REPO_FULL_NAME"),
        *("BRANCH_NAME", "TAG_NAME", "REF_NAME"),
        # Of pull requests on GitHub only.
        *("_HEAD_BRANCH", "_BASE_BRANCH", "_HEAD_REPO_URL", "_PR_NUMBER"),
    }
)
EMPTY_BY_DEFAULT = frozenset({"REPO_NAME", "REPO_FULL_NAME", "BRANCH_NAME", "TAG_NAME", "COMMIT_SHA", "SHORT_SHA"})
"""Empty text when the source has none, even under MUST_MATCH."""
KEY = re.compile(r"_[A-Z0-9_]+")
"""A user's own substitution."""
_TOKEN = re.compile(
    r"\$\$|\$\{(?P<braced>[A-Z_][A-Z0-9_]*)(?P<operation>[^A-Z0-9_{}][^{}]*)?\}|\$(?P<bare>[A-Z_][A-Z0-9_]*)"
)
_IN_SCRIPT = re.compile(r"(?<![\\$])\$(?:\{([A-Z_][A-Z0-9_]*)[^}]*\}|([A-Z_][A-Z0-9_]*))")
_SLICE = re.compile(r":\s*\(?(-?\d+)\)?(?::(-?\d+))?")
_REPLACE = re.compile(r"(?P<all>/)?(?P<anchor>[#%])?(?P<old>[^/]+)/?(?P<new>.*)", re.DOTALL)


@dataclass(frozen=True)
class Use:
    """One place that refers to a substitution."""

    path: FieldPath
    name: str
    operation: str = ""
    """What bash-style expansion is asked for, such as `:0:7`."""


def expand(text: str, values: Mapping[str, str], *, dynamic: bool = False, loose: bool = False) -> str:
    """`text` with $X and ${X} filled in, and $$ as $; `dynamic` also fills in ${X:0:7} and its like.

    A name without a value raises BuildError (substitutionOption MUST_MATCH); `loose` (ALLOW_LOOSE, forced by triggers)
    makes it empty text instead.
    """

    def one(found: re.Match[str]) -> str:
        name, operation = found["braced"] or found["bare"], found["operation"] or ""
        if name is None:
            return "$"
        if operation and not dynamic:
            return found[0]
        if name not in values and name not in EMPTY_BY_DEFAULT and not loose and not operation.startswith(":-"):
            raise BuildError(f"${name} has no value", remedy=f"declare {name} under substitutions, or pass it")
        return _operated(values.get(name, ""), operation)

    return _TOKEN.sub(one, text)


def uses(text: str, path: FieldPath = ()) -> list[Use]:
    """What a field's text refers to."""
    return [
        Use(path, found["braced"] or found["bare"], found["operation"] or "")
        for found in _TOKEN.finditer(text)
        if found[0] != "$$"
    ]


def substituted(build: BuildFile) -> Iterator[tuple[FieldPath, str]]:
    """Every text in which the service fills in substitutions, with its path.

    Not scripts: they see substitutions as environment variables, if at all. Values of substitutions only when one may
    refer to another.
    """
    for path, text in _texts(build.data, ()):
        own = path[0] == "substitutions" and not build.option("dynamicSubstitutions")
        names = len(path) > 2 and path[0] == "steps" and path[2] in ("script", "id", "waitFor", "secretEnv")
        if not own and not names:
            yield path, text


def mapped(build: BuildFile, step: Mapping[str, Any]) -> bool:
    """Whether a step's script sees substitutions as environment variables."""
    return bool(step.get("automapSubstitutions", build.option("automapSubstitutions")))


def read_by_scripts(build: BuildFile) -> Iterator[Use]:
    """What scripts read that looks like a substitution: a name of the service's, or one that begins with _."""
    for index, step in enumerate(build.steps):
        script = str(step.get("script", ""))
        own = {entry.partition("=")[0] for entry in (*(build.option("env") or ()), *step.get("env", ()))}
        for found in _IN_SCRIPT.finditer(script):
            name = found[1] or found[2]
            set_here = re.search(rf"(?:^|[\s;]){name}=|\b(?:for|read|local) {name}\b", script, re.MULTILINE)
            if (name in BUILT_IN or KEY.fullmatch(name)) and name not in own and not set_here:
                yield Use(("steps", index, "script"), name)


def used(build: BuildFile) -> set[str]:
    """Names of all substitutions that the file uses, in scripts that see them too."""
    found = {use.name for path, text in substituted(build) for use in uses(text, path)}
    scripts = {use.name for use in read_by_scripts(build) if mapped(build, build.steps[int(use.path[1])])}
    return found | scripts


def values_of(build: BuildFile, given: Mapping[str, str]) -> dict[str, str]:
    """Every substitution with its value: the file's own, and what a trigger passes, which comes first.

    Values that refer to others are filled in, as builds of triggers do always; names without a value become empty.
    """
    written: dict[str, str] = {**build.data.get("substitutions", {}), **given}

    def value(name: str, above: tuple[str, ...]) -> str:
        others = {
            use.name: value(use.name, (*above, name))
            for use in uses(written[name])
            if use.name in written and use.name not in (*above, name)
        }
        try:
            return expand(written[name], others, dynamic=True, loose=True)
        except BuildError:  # an expansion that does not exist is a finding of its own
            return written[name]

    return {name: value(name, ()) for name in written}


def _texts(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, (*path, str(name)))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _texts(item, (*path, place))


def _operated(value: str, operation: str) -> str:
    """A value after a bash-style expansion; raises BuildError for one that is not known."""
    if not operation:
        return value
    if operation.startswith(":-"):
        return value or operation[2:]
    if slice_ := _SLICE.fullmatch(operation):
        start, length = int(slice_[1]), slice_[2]
        start = max(len(value) + start, 0) if start < 0 else start
        end = len(value) if length is None else int(length) + (start if int(length) >= 0 else len(value))
        return value[start:end]
    cased = {"^^": value.upper(), ",,": value.lower(), "^": value[:1].upper() + value[1:]}
    if operation in cased:
        return cased[operation]
    if operation[0] in "#%":
        return _cut(value, operation[0], operation.lstrip(operation[0]), operation[:2] == operation[0] * 2)
    if operation[0] == "/" and (parts := _REPLACE.fullmatch(operation[1:])):
        before, after = ("^" if parts["anchor"] == "#" else ""), ("$" if parts["anchor"] == "%" else "")
        new, count = str(parts["new"]), 0 if parts["all"] else 1
        return re.sub(before + _pattern(parts["old"]) + after, lambda _: new, value, count=count)
    raise BuildError(f"{operation!r} is no expansion that Cloud Build knows", remedy="use :-, :n:m, #, %, /, ^^ or ,,")


def _cut(value: str, side: str, pattern: str, longest: bool) -> str:
    """`value` without the shortest or longest beginning (#) or end (%) that fits a glob."""
    fits = re.compile(_pattern(pattern) + r"\Z", re.DOTALL)
    sizes = range(len(value), -1, -1) if longest else range(len(value) + 1)
    for size in sizes:
        if side == "#" and fits.match(value[:size]):
            return value[size:]
        if side == "%" and fits.match(value[len(value) - size :]):
            return value[: len(value) - size]
    return value


def _pattern(glob: str) -> str:
    """A glob as a regular expression without its end."""
    return fnmatch.translate(glob).removesuffix(r"\Z")
