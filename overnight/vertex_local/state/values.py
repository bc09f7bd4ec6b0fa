"""Reading fields of messages by path, and comparing them with what a filter says."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from google.protobuf.message import Message

from overnight.vertex_local.api.errors import invalid

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}


class _Absent:
    """A field that is not set, or a key that is not there."""


ABSENT = _Absent()


class Enum(str):
    """An enum's value by name; its number is kept for filters that use it."""

    number: int

    def __new__(cls, name: str, number: int) -> "Enum":
        """The value `name`."""
        self = super().__new__(cls, name)
        self.number = number
        return self


def read(message: Any, path: Sequence[str]) -> Any:
    """The value at a path such as `("labels", "team")` or `("metadata", "lr", "number_value")`.

    ABSENT when a message on the way, a key, or an optional field is not set. Timestamps come as datetime in UTC,
    enums as `Enum`. Raises ApiError INVALID_ARGUMENT for a field that the message does not have.
    """
    value = message
    for position, part in enumerate(path):
        value = _step(value, part, path[: position + 1])
        if value is ABSENT:
            return ABSENT
    return _plain(value)


def _step(value: Any, part: str, path: Sequence[str]) -> Any:
    if isinstance(value, Message) and value.DESCRIPTOR.full_name == "google.protobuf.Struct":
        value = value.fields
    if not isinstance(value, Message):
        if not hasattr(value, "keys"):
            raise invalid(f"The field {'.'.join(path)} cannot be used in a filter or an order.")
        return value.get(part, ABSENT)
    known = value.DESCRIPTOR.fields_by_name
    # The client's messages have `slice_` and `type_` where the API has names that Python has already.
    field = known.get(part) or known.get(f"{part}_")
    if field is None:
        raise invalid(f"The field {'.'.join(path)} cannot be used in a filter or an order.")
    if field.has_presence and not value.HasField(field.name):
        return ABSENT
    found = getattr(value, field.name)
    if field.enum_type is not None and isinstance(found, int):
        named = field.enum_type.values_by_number.get(found)
        return Enum(named.name if named else str(found), found)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Message) and value.DESCRIPTOR.full_name == "google.protobuf.Timestamp":
        return value.ToDatetime(tzinfo=UTC)
    return value


def compare(found: Any, operator: str, value: str) -> bool:
    """Whether `found` stands in the relation to a filter's value; raises ApiError when they do not go together."""
    relation = _OPERATORS[operator]
    if isinstance(found, Enum) and value.isdigit():
        return relation(found.number, int(value))
    if isinstance(found, bool):
        return relation(found, value.lower() == "true")
    if isinstance(found, int | float) and not isinstance(found, Enum):
        return relation(found, _number(value))
    if isinstance(found, datetime):
        return relation(found, _time(value))
    if isinstance(found, str):
        return relation(str(found), value)
    raise invalid(f"A filter cannot compare with {value}.")


def has(found: Any, value: str, quoted: bool) -> bool:
    """The operator `:`; `value` `*` without quotes asks whether there is anything at all."""
    if found is ABSENT:
        return False
    if value == "*" and not quoted:
        return not isinstance(found, str) or found != ""
    if isinstance(found, str):
        return fnmatchcase(found, _only_stars(value))
    if hasattr(found, "keys"):
        return value in found
    if isinstance(found, Sequence) or hasattr(found, "__iter__"):
        return any(item == value for item in found)
    return compare(found, "=", value)


def _only_stars(pattern: str) -> str:
    return re.sub(r"([\[?])", r"[\1]", pattern)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise invalid(f"{text} in the filter is not a number.") from None


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise invalid(f"{text} in the filter is not a time in RFC 3339 format.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
