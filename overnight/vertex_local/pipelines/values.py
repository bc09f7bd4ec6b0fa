"""Parameter values by their type in the specification: as the API sends them, as text in commands and files."""

import json
from collections.abc import Mapping

from overnight.vertex_local.pipelines.spec import Json, ParameterDef, PipelineError

TYPES: Mapping[str, type | tuple[type, ...]] = {
    "STRING": str,
    "NUMBER_INTEGER": (int, float),
    "NUMBER_DOUBLE": (int, float),
    "BOOLEAN": bool,
    "LIST": list,
    "STRUCT": dict,
}


def typed(value: Json, kind: str) -> Json:
    """`value` as its type has it. Numbers of the API are doubles, so that 5 arrives as 5.0. Raises PipelineError."""
    expected = TYPES.get(kind)
    whole = _whole(value)
    if value is None or expected is None:
        return whole
    fits = isinstance(value, expected) and isinstance(value, bool) == (kind == "BOOLEAN")
    if not fits or (kind == "NUMBER_INTEGER" and isinstance(whole, float)):
        raise PipelineError(f"{json.dumps(value)} is not of type {kind}.")
    return float(value) if kind == "NUMBER_DOUBLE" else whole


def _whole(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value


def as_text(value: Json) -> str:
    """A value inside a command: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def from_text(text: str, kind: str) -> Json:
    """What a program has written into the file of an output parameter. Raises PipelineError."""
    if kind == "STRING":
        return text
    stripped = text.strip()
    if kind == "BOOLEAN" and stripped in ("True", "False"):  # as Python's str() writes it
        return stripped == "True"
    try:
        return typed(json.loads(stripped), kind)
    except ValueError as error:
        raise PipelineError(f"{stripped[:100]!r} is not of type {kind}.") from error


def pipeline_inputs(definitions: Mapping[str, ParameterDef], given: Mapping[str, Json]) -> dict[str, Json]:
    """The parameters of a run: given values and defaults. Raises PipelineError for unknown and missing ones."""
    for name in given:
        if name not in definitions:
            raise PipelineError(f"The pipeline parameter {name} is not found in the pipeline job input definitions.")
    values: dict[str, Json] = {}
    for name, definition in definitions.items():
        value = given.get(name, definition.default)
        if value is not None:
            try:
                values[name] = typed(value, definition.type)
            except PipelineError as error:
                raise PipelineError(f"runtime_config.parameter_values[{name}]: {error}") from error
        elif not definition.optional:
            raise PipelineError(f"runtime_config.parameter_values[{name}]: a value is required.")
    return values
