"""The parameters of a study: names, ranges, scales, conditions."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from overnight.jobs.context import Context
from overnight.jobs.document import FieldPath
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.rules.tuning import study
from overnight.jobs.view import JobView

PARAMETER_ID = error(
    "parameter-id", "A study has parameters; each has its own parameterId without spaces.", "1.6; API v1 protobuf"
)
PARAMETER_KIND = error(
    "parameter-kind", "A parameter is double, integer, categorical or discrete.", "1.6; API v1 protobuf"
)
PARAMETER_RANGE = error(
    "parameter-range",
    "A range rises; discrete values rise by 1e-10 or more, 1,000 at most; categories are there once.",
    "1.6; API v1 protobuf",
)
PARAMETER_SCALE = error(
    "parameter-scale",
    "Logarithmic scales have positive values only; categories have no scale.",
    "0 rule 21, 1.6; API v1 protobuf",
)
PARAMETER_DEFAULT = error(
    "parameter-default", "defaultValue is for Vizier studies, not for tuning jobs.", "1.6; API v1 protobuf"
)
GRID_DOUBLE = error("grid-search-double", "GRID_SEARCH has no double parameters.", "0 rule 21, 1.6; API v1 protobuf")
CONDITION = error(
    "condition",
    "A conditional parameter names values of its parent, in the parent's kind.",
    "1.6; API v1 protobuf (ConditionalParameterSpec)",
)
CONDITION_OVERLAP = error(
    "condition-overlap",
    "Conditional parameters of one name have conditions without a common value.",
    "1.6; API v1 protobuf (ParameterSpec)",
)
ARGUMENT_FIXED = warning(
    "argument-fixed",
    "A tuned parameter is not fixed in args: each trial gets --parameterId=value, and the code may read either.",
    "0 rule 21, 1.6; training/using-hyperparameter-tuning",
)

KINDS = ("doubleValueSpec", "integerValueSpec", "categoricalValueSpec", "discreteValueSpec")
CONDITIONS = {
    "parentDiscreteValues": "discreteValueSpec",
    "parentIntValues": "integerValueSpec",
    "parentCategoricalValues": "categoricalValueSpec",
}
LOG_SCALES = ("UNIT_LOG_SCALE", "UNIT_REVERSE_LOG_SCALE")
MAX_DISCRETE = 1000
EPSILON = 1e-10
Parameter = tuple[dict[str, Any], FieldPath]


def _top(job: JobView) -> list[Parameter]:
    where = (*job.path, "studySpec", "parameters")
    return [(spec, (*where, position)) for position, spec in enumerate(study(job).get("parameters", []))]


def _all(parameters: list[Parameter]) -> Iterator[Parameter]:
    """Parameters and those under conditions, depth first."""
    for spec, where in parameters:
        yield spec, where
        children = [
            (child.get("parameterSpec", {}), (*where, "conditionalParameterSpecs", position, "parameterSpec"))
            for position, child in enumerate(spec.get("conditionalParameterSpecs", []))
        ]
        yield from _all(children)


def kind_of(spec: dict[str, Any]) -> str | None:
    """Which of the four value specs a parameter has."""
    return next((kind for kind in KINDS if kind in spec), None)


def names(job: JobView, context: Context) -> Iterator[Finding]:
    """Ids, and that there are any."""
    if job.kind != "hyperparameterTuningJob":
        return
    top = _top(job)
    if not top:
        where = (*job.path, "studySpec", "parameters")
        yield PARAMETER_ID.at(where, "there is nothing to tune", "add parameters")
    for spec, where in _all(top):
        name = spec.get("parameterId", "")
        if not re.fullmatch(r"\S+", name):
            yield PARAMETER_ID.at((*where, "parameterId"), f"{name!r} is no parameterId", "write one without spaces")
    twice = {name for name, count in Counter(spec.get("parameterId") for spec, _ in top).items() if name and count > 1}
    for spec, where in top:
        name = spec.get("parameterId")
        if name in twice and spec is not next(item for item, _ in top if item.get("parameterId") == name):
            yield PARAMETER_ID.at((*where, "parameterId"), f"{name} is there twice", "keep one")


def ranges(job: JobView, context: Context) -> Iterator[Finding]:
    """Each parameter's values."""
    for spec, where in _all(_top(job)):
        kind = kind_of(spec)
        if kind is None:
            yield PARAMETER_KIND.at(where, "this parameter has no values", f"add one of {', '.join(KINDS)}")
            continue
        values = spec[kind]
        if "defaultValue" in values:
            said = "tuning jobs start where the service likes; defaultValue is read by Vizier studies only"
            yield PARAMETER_DEFAULT.at((*where, kind, "defaultValue"), said, "remove it")
        problem = _range_problem(kind, values)
        if problem:
            yield PARAMETER_RANGE.at((*where, kind), problem, "correct the values")


def _range_problem(kind: str, values: dict[str, Any]) -> str | None:
    if kind in ("doubleValueSpec", "integerValueSpec"):
        low, high = _bounds(values)
        return f"minValue {low:g} is above maxValue {high:g}" if low > high else None
    listed = values.get("values", [])
    if not listed:
        return "there are no values"
    if kind == "categoricalValueSpec":
        return "a category is there twice" if len(set(listed)) < len(listed) else None
    if len(listed) > MAX_DISCRETE:
        return f"there are {len(listed)} values, and {MAX_DISCRETE} at most"
    rising = all(high - low >= EPSILON for low, high in pairwise(listed))
    return None if rising else "the values do not rise"


def _bounds(values: dict[str, Any]) -> tuple[float, float]:
    return float(values.get("minValue", 0)), float(values.get("maxValue", 0))


def scales(job: JobView, context: Context) -> Iterator[Finding]:
    """Scales against values."""
    for spec, where in _all(_top(job)):
        kind, scale = kind_of(spec), spec.get("scaleType", "SCALE_TYPE_UNSPECIFIED")
        if kind is None or scale == "SCALE_TYPE_UNSPECIFIED":
            continue
        place = (*where, "scaleType")
        if kind == "categoricalValueSpec":
            yield PARAMETER_SCALE.at(place, "categories have no scale", "remove it")
        elif scale in LOG_SCALES:
            values = spec[kind]
            least = min(values.get("values", [1])) if kind == "discreteValueSpec" else _bounds(values)[0]
            if least <= 0:
                said = f"a logarithmic scale has positive values only, and this begins at {least:g}"
                yield PARAMETER_SCALE.at(place, said, "raise the lower bound above 0, or write UNIT_LINEAR_SCALE")


def grid(job: JobView, context: Context) -> Iterator[Finding]:
    """GRID_SEARCH tries every value."""
    if study(job).get("algorithm") != "GRID_SEARCH":
        return
    for spec, where in _all(_top(job)):
        if kind_of(spec) == "doubleValueSpec":
            said = "a grid has no place for all numbers between two bounds"
            yield GRID_DOUBLE.at((*where, "doubleValueSpec"), said, "write discreteValueSpec, or leave algorithm out")


def conditions(job: JobView, context: Context) -> Iterator[Finding]:
    """Conditional parameters against their parents."""
    for spec, where in _all(_top(job)):
        claimed: dict[str, set[Any]] = defaultdict(set)
        for position, child in enumerate(spec.get("conditionalParameterSpecs", [])):
            place = (*where, "conditionalParameterSpecs", position)
            condition = next((name for name in CONDITIONS if name in child), None)
            if condition is None:
                yield CONDITION.at(place, "there is no condition", f"add one of {', '.join(CONDITIONS)}")
                continue
            values = {_plain(value) for value in child[condition].get("values", [])}
            if CONDITIONS[condition] != kind_of(spec):
                said = f"{condition} goes with {CONDITIONS[condition]}, and the parent has {kind_of(spec)}"
                yield CONDITION.at((*place, condition), said, "name the condition by the parent's kind")
            elif not values or not all(_within(value, spec) for value in values):
                said = "the values are not among the parent's"
                yield CONDITION.at((*place, condition, "values"), said, "write values that the parent can take")
            name = str(child.get("parameterSpec", {}).get("parameterId", ""))
            if claimed[name] & values:
                said = f"two conditions of {name} have a value in common"
                yield CONDITION_OVERLAP.at((*place, condition, "values"), said, "keep each value under one of them")
            claimed[name] |= values


def _plain(value: Any) -> Any:
    """int64 is text in the API's JSON, categories are text too: numbers compare as numbers."""
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() else value


def _within(value: Any, parent: dict[str, Any]) -> bool:
    kind = kind_of(parent)
    if kind == "integerValueSpec":
        low, high = _bounds(parent[kind])
        return bool(low <= value <= high)
    return value in {_plain(item) for item in parent[kind or ""].get("values", [])}


def arguments(job: JobView, context: Context) -> Iterator[Finding]:
    """Parameters that the spec itself passes already."""
    tuned = {str(spec.get("parameterId", "")) for spec, _ in _all(_top(job))} - {""}
    for pool in job.workers if tuned else ():
        for position, word in enumerate(pool.task.get("args", [])):
            name = re.split("[= ]", word.removeprefix("--"))[0]
            if word.startswith("--") and name in tuned:
                said = f"--{name} is tuned, and fixed here as well"
                yield ARGUMENT_FIXED.at(pool.at(pool.task_name or "", "args", position), said, "remove it")


CHECKS: tuple[Check, ...] = (names, ranges, scales, grid, conditions, arguments)
CLOUD_CHECKS: tuple[Check, ...] = ()
