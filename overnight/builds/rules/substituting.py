"""Substitutions: each name is known, used, and used where the service fills it in."""

from collections.abc import Iterator

from overnight.builds.errors import BuildError
from overnight.builds.rules.context import SUBSTITUTING, Check, Context
from overnight.builds.substitutions import (
    BUILT_IN,
    KEY,
    Use,
    expand,
    mapped,
    read_by_scripts,
    substituted,
    used,
    uses,
)
from overnight.forms.findings import Finding, error
from overnight.forms.message import suggestion

UNDECLARED = error(
    "undeclared-substitution",
    "Every name is declared in the file, built in, or given by the trigger, which else puts empty text in its place.",
    f"vertex-facts 5; {SUBSTITUTING}",
)
UNUSED = error(
    "unused-substitution", "Every declared substitution is used: a build by hand refuses others.", SUBSTITUTING
)
BAD_KEY = error("substitution-name", "A substitution's name is _ with capital letters, digits and _.", SUBSTITUTING)
NOT_IN_SCRIPTS = error(
    "script-substitution",
    "A script reads substitutions only as environment variables: automapSubstitutions, or the step's env.",
    SUBSTITUTING,
)
EXPANSION = error(
    "dynamic-expansion", "Expansions such as ${_X:0:7} are known ones, with dynamicSubstitutions.", SUBSTITUTING
)


def known(context: Context) -> Iterator[Finding]:
    """Names in fields and in scripts that see them."""
    names = {*BUILT_IN, *context.given, *context.build.data.get("substitutions", {})}
    found = [use for path, text in substituted(context.build) for use in uses(text, path)]
    seen: set[tuple[object, str]] = set()
    for use in [*found, *_in_mapped_scripts(context)]:
        if use.name not in names and (use.path, use.name) not in seen:
            seen.add((use.path, use.name))
            yield _unknown(use, sorted(names))


def _unknown(use: Use, names: list[str]) -> Finding:
    if KEY.fullmatch(use.name):
        remedy = suggestion(use.name, [name for name in names if name.startswith("_")])
        if not remedy.startswith("did"):
            remedy = f"declare {use.name} under substitutions"
        return UNDECLARED.at(use.path, f"nothing gives a value to ${use.name}", remedy)
    remedy = f"write $${use.name} for a variable of the shell"
    return UNDECLARED.at(use.path, f"${use.name} is no substitution of Cloud Build's", remedy)


def _in_mapped_scripts(context: Context) -> Iterator[Use]:
    for use in read_by_scripts(context.build):
        if mapped(context.build, context.build.steps[int(use.path[1])]):
            yield use


def declared(context: Context) -> Iterator[Finding]:
    """Names that the file declares."""
    names = used(context.build)
    loose = context.build.option("substitutionOption") == "ALLOW_LOOSE"
    for name in context.build.data.get("substitutions", {}):
        if not KEY.fullmatch(name) and name not in BUILT_IN:
            yield BAD_KEY.at(("substitutions", name), f"{name!r} is no name for a substitution", "write it as _NAME")
        elif name not in names and not loose:
            yield UNUSED.at(("substitutions", name), f"{name} is used nowhere", "remove it")


def in_scripts(context: Context) -> Iterator[Finding]:
    """Scripts that expect substitutions and do not see them."""
    seen: set[tuple[object, str]] = set()
    for use in read_by_scripts(context.build):
        step = context.build.steps[int(use.path[1])]
        if not mapped(context.build, step) and (use.path, use.name) not in seen:
            seen.add((use.path, use.name))
            said = f"scripts are not substituted, so ${use.name} is empty here"
            yield NOT_IN_SCRIPTS.at(use.path, said, "set automapSubstitutions: true in options")


def expanded(context: Context) -> Iterator[Finding]:
    """Bash-style expansions."""
    dynamic = context.build.option("dynamicSubstitutions")
    for path, text in substituted(context.build):
        for use in uses(text, path):
            if not use.operation:
                continue
            shown = f"${{{use.name}{use.operation}}}"
            if not dynamic:
                said = f"{shown} is filled in by triggers only"
                yield EXPANSION.at(path, said, "set dynamicSubstitutions: true in options")
            else:
                try:
                    expand(shown, {use.name: "value"}, dynamic=True)
                except BuildError as problem:
                    yield EXPANSION.at(path, problem.problem, problem.remedy or "write another")


CHECKS: tuple[Check, ...] = (known, declared, in_scripts, expanded)
