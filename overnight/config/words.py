"""Pydantic's findings in plain words: what is wrong with the value, and what to give instead."""

import difflib
from collections.abc import Sequence
from datetime import date
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from overnight.config.mistakes import Mistake
from overnight.config.schema import KEY, Spot, field_name, spot

EXAMPLE = "config/example.yaml shows every field"

WRONG_KIND = {
    "bool_type": "is not true or false",
    "string_type": "is not text",
    "int_type": "is not a whole number",
    "int_from_float": "is not a whole number",
    "float_type": "is not a number",
    "list_type": "is not a list",
    "finite_number": "is not a finite number",
}
OUT_OF_BOUNDS = {
    "greater_than": "is too small",
    "greater_than_equal": "is too small",
    "less_than": "is too large",
    "less_than_equal": "is too large",
}
SECTION = ("model_type", "model_attributes_type", "dict_type")
UNKNOWN = "extra_forbidden"


def mistakes(root: type[BaseModel], errors: Sequence[ErrorDetails]) -> list[Mistake]:
    """One mistake for each of pydantic's errors, unknown fields first.

    A misspelt required field is both unknown and missing: only its spelling is told.
    """
    meant = {(*error["loc"][:-1], _close_name(root, error)) for error in errors if _unknown(error)}
    told = [error for error in errors if not (error["type"] == "missing" and tuple(error["loc"]) in meant)]
    told.sort(key=lambda error: not _unknown(error))
    return [_mistake(root, error) for error in told]


def _unknown(error: ErrorDetails) -> bool:
    return error["type"] == UNKNOWN or (error["type"] == "literal_error" and error["loc"][-1] == KEY)


def _mistake(root: type[BaseModel], error: ErrorDetails) -> Mistake:
    field, here = field_name(error["loc"]), spot(root, error["loc"])
    kind, given = error["type"], error["input"]
    if _unknown(error):
        return Mistake(field, "unknown field", _known(root, error))
    if kind == "missing":
        return Mistake(field, f"this {'section' if here.names else 'field'} is missing", _addition(here))
    if kind == "value_error":
        return Mistake(field, str(error["ctx"]["error"]))
    if kind == "invalid_key":
        return Mistake(field, f"{given!r} is not a field's name", "write names as plain text")
    if given is None:
        return Mistake(field, "nothing is given here", _remedy(here, kind, given))
    return Mistake(field, f"{_shown(given)} {_complaint(here, kind)}", _remedy(here, kind, given))


def _complaint(here: Spot, kind: str) -> str:
    if kind in SECTION:
        return "is not a section with fields of its own"
    if kind == "literal_error":
        choices = here.choices
        return f"is not {choices[0]}" if len(choices) == 1 else "is none of the values"
    return WRONG_KIND.get(kind) or OUT_OF_BOUNDS.get(kind) or "does not fit"


def _remedy(here: Spot, kind: str, given: Any) -> str:
    if kind in SECTION:
        names = f" with {_all(here.names)}" if here.names else ""
        return f"give a section{names}; {EXAMPLE}"
    if kind == "bool_type":
        return "give true or false"
    if here.choices and here.description is None:
        words = [str(choice) for choice in here.choices]
        close = difflib.get_close_matches(str(given), words, n=1)
        return f"did you mean {close[0]!r}?" if close else f"give {_any(words)}"
    if kind == "string_type" and isinstance(given, bool | int | float | date):
        return f'put it in quotes: "{_shown(given)}"'
    if kind == "list_type" and here.item.description:
        return f"give a list, each of them {here.item.description}"
    return f"give {here.description}" if here.description else EXAMPLE


def _addition(here: Spot) -> str:
    if here.names:
        return f"add it with {_all(here.names)}; {EXAMPLE}"
    return f"give {here.description}" if here.description else f"add it; {EXAMPLE}"


def _known(root: type[BaseModel], error: ErrorDetails) -> str:
    close = _close_name(root, error)
    return f"did you mean {close!r}?" if close else f"known fields: {', '.join(_siblings(root, error))}"


def _close_name(root: type[BaseModel], error: ErrorDetails) -> str | None:
    name = next(part for part in reversed(error["loc"]) if part != KEY)
    return next(iter(difflib.get_close_matches(str(name), _siblings(root, error), n=1)), None)


def _siblings(root: type[BaseModel], error: ErrorDetails) -> list[str]:
    up = 2 if error["loc"][-1] == KEY else 1
    return spot(root, error["loc"][:-up]).names


def _shown(value: Any) -> str:
    """A value as it stands in YAML; what is long, by its kind."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a section"
    return repr(value) if isinstance(value, str) else str(value)


def _all(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _any(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
