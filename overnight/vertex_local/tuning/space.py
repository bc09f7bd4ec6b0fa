"""The space that a study searches, as plain data; what Vertex AI refuses in it is refused in one sentence.

Field rules: "StudySpec" of the API's reference.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

MAX_DISCRETE_VALUES = 1000
SAME = 1e-10
"""Discrete values that differ by less are the same value."""

Value = int | float | str


class SpaceError(ValueError):
    """The study's specification cannot be searched."""


class Scale(StrEnum):
    """How a range is spread out for the search."""

    LINEAR = "UNIT_LINEAR_SCALE"
    LOG = "UNIT_LOG_SCALE"
    REVERSE_LOG = "UNIT_REVERSE_LOG_SCALE"


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; only `whole` ones for an INTEGER."""

    low: float
    high: float
    whole: bool = False


@dataclass(frozen=True)
class Choice:
    """One of `values`: in rising `order` (DISCRETE) or without any (CATEGORICAL)."""

    values: tuple[Value, ...]
    ordered: bool = False


@dataclass(frozen=True)
class Parameter:
    """What is varied: its name on the command line, its values, and what is varied only for some of them."""

    id: str
    domain: Range | Choice
    scale: Scale = Scale.LINEAR
    children: tuple["Child", ...] = ()

    def active(self, value: Value) -> tuple["Parameter", ...]:
        """The children that `value` brings with it."""
        return tuple(child.parameter for child in self.children if any(same(value, known) for known in child.when))


@dataclass(frozen=True)
class Child:
    """A parameter that is varied only when its parent has one of the values `when`."""

    when: tuple[Value, ...]
    parameter: Parameter


def same(left: Value, right: Value) -> bool:
    """Whether two values of one parameter are equal as the API counts it."""
    if isinstance(left, str) or isinstance(right, str):
        return left == right
    return abs(left - right) <= SAME


def choose(parameters: Sequence[Parameter], pick: Callable[[str, Parameter], Value]) -> dict[str, Value]:
    """One point of the space: `pick(key, parameter)` for each parameter that its parent's value makes active.

    `key` differs for two children of one name under different parents, whose ranges may differ.
    """
    chosen: dict[str, Value] = {}

    def visit(parameter: Parameter, prefix: str) -> None:
        key = f"{prefix}{parameter.id}"
        value = chosen[parameter.id] = pick(key, parameter)
        for child in parameter.active(value):
            visit(child, f"{key}={value}/")

    for parameter in parameters:
        visit(parameter, "")
    return chosen


def restored(parameters: Sequence[Parameter], values: Mapping[str, Value]) -> dict[str, Value]:
    """A point as `choose` made it, from one whose numbers have all become floats on the way (as in a Trial)."""

    def pick(_key: str, parameter: Parameter) -> Value:
        value = values[parameter.id]
        whole = isinstance(parameter.domain, Range) and parameter.domain.whole
        return int(value) if whole else value

    return choose(parameters, pick)


def argument(name: str, value: Value) -> str:
    """How a trial's program is told a value. Whole numbers have no point, whatever their type: `--batch=64`."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return f"--{name}={text}"


def points(parameters: Sequence[Parameter]) -> Iterator[dict[str, Value]]:
    """Every point of a space without DOUBLE parameters, in the order of the parameters' values."""
    if not parameters:
        yield {}
        return
    first, rest = parameters[0], parameters[1:]
    for value in _values(first.domain):
        for others in points((*first.active(value), *rest)):
            yield {first.id: value, **others}


def _values(domain: Range | Choice) -> Sequence[Value]:
    return range(int(domain.low), int(domain.high) + 1) if isinstance(domain, Range) else domain.values


def read_space(study_spec: Any, *, grid: bool = False) -> tuple[Parameter, ...]:
    """The parameters of a StudySpec message. `grid`: for GRID_SEARCH, which cannot take DOUBLE parameters.

    Raises SpaceError.
    """
    if not study_spec.parameters:
        raise SpaceError("study_spec.parameters: at least one parameter is required.")
    parameters = tuple(_parameter(spec, grid) for spec in study_spec.parameters)
    _refuse_twins([parameter.id for parameter in parameters])
    return parameters


def _refuse_twins(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SpaceError(f"study_spec.parameters: the parameter id {name!r} is not unique.")


def _parameter(spec: Any, grid: bool) -> Parameter:
    name = spec.parameter_id
    if not name or any(letter.isspace() for letter in name):
        raise SpaceError(f"study_spec.parameters.parameter_id: {name!r} must not be empty or contain whitespace.")
    domain = _domain(spec, name)
    if grid and isinstance(domain, Range) and not domain.whole:
        raise SpaceError(f"study_spec.parameters[{name}]: GRID_SEARCH does not support DOUBLE parameters.")
    children = tuple(_child(name, domain, child, grid) for child in spec.conditional_parameter_specs)
    _refuse_overlap(name, children)
    return Parameter(name, domain, _scale(spec, name, domain), children)


def _domain(spec: Any, name: str) -> Range | Choice:
    kind = spec.WhichOneof("parameter_value_spec")
    if kind is None:
        raise SpaceError(f"study_spec.parameters[{name}]: a value spec is required.")
    values = getattr(spec, kind)
    if kind in ("double_value_spec", "integer_value_spec"):
        # A range of one value is allowed; an unset bound is 0 on the wire.
        if not values.min_value <= values.max_value:
            raise SpaceError(f"study_spec.parameters[{name}]: min_value must not exceed max_value.")
        return Range(values.min_value, values.max_value, whole=kind == "integer_value_spec")
    if not values.values:
        raise SpaceError(f"study_spec.parameters[{name}]: at least one value is required.")
    if kind == "discrete_value_spec":
        _check_discrete(name, values.values)
    return Choice(tuple(values.values), ordered=kind == "discrete_value_spec")


def _check_discrete(name: str, values: Sequence[float]) -> None:
    if len(values) > MAX_DISCRETE_VALUES:
        raise SpaceError(f"study_spec.parameters[{name}]: more than {MAX_DISCRETE_VALUES} discrete values.")
    if any(later - earlier < SAME for earlier, later in pairwise(values)):
        raise SpaceError(f"study_spec.parameters[{name}]: discrete values must increase, by at least {SAME:g}.")


def _scale(spec: Any, name: str, domain: Range | Choice) -> Scale:
    scale = (Scale.LINEAR, Scale.LINEAR, Scale.LOG, Scale.REVERSE_LOG)[spec.scale_type]
    if isinstance(domain, Choice) and not domain.ordered and spec.scale_type:
        raise SpaceError(f"study_spec.parameters[{name}]: scale_type must not be set for CATEGORICAL parameters.")
    lowest = domain.low if isinstance(domain, Range) else domain.values[0]
    if scale is not Scale.LINEAR and isinstance(lowest, int | float) and lowest <= 0:
        raise SpaceError(f"study_spec.parameters[{name}]: {scale} needs strictly positive values.")
    return scale


def _child(parent: str, domain: Range | Choice, spec: Any, grid: bool) -> Child:
    kind = spec.WhichOneof("parent_value_condition")
    allowed = "parent_int_values" if isinstance(domain, Range) else "parent_categorical_values"
    if isinstance(domain, Choice) and domain.ordered:
        allowed = "parent_discrete_values"
    if kind != allowed or (isinstance(domain, Range) and not domain.whole):
        raise SpaceError(f"study_spec.parameters[{parent}]: the condition does not fit the parent's type.")
    when = tuple(getattr(spec, kind).values)
    for value in when:
        if not _holds(domain, value):
            raise SpaceError(f"study_spec.parameters[{parent}]: the condition's value {value!r} is not the parent's.")
    return Child(when, _parameter(spec.parameter_spec, grid))


def _holds(domain: Range | Choice, value: Value) -> bool:
    if isinstance(domain, Range):
        return not isinstance(value, str) and domain.low <= value <= domain.high
    return any(same(value, known) for known in domain.values)


def _refuse_overlap(parent: str, children: tuple[Child, ...]) -> None:
    for index, child in enumerate(children):
        for other in children[:index]:
            if child.parameter.id == other.parameter.id and any(same(a, b) for a in child.when for b in other.when):
                raise SpaceError(
                    f"study_spec.parameters[{parent}]: conditions of {child.parameter.id!r} must be disjoint."
                )
