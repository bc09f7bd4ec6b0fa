"""Check plain data against a protobuf message, field by field, before it is parsed.

`google.protobuf.json_format` accepts an empty list for a message, both spellings of a field and a
number for an enum, and says where an error is only for some of them. This check names the field always,
and takes the API's JSON names only.
"""

import difflib
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from overnight.jobs.document import FieldPath

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}


@dataclass(frozen=True)
class Problem:
    """The first thing that is wrong: where, what, and what to do."""

    path: FieldPath
    message: str
    remedy: str


class _Found(Exception):
    def __init__(self, path: FieldPath, message: str, remedy: str) -> None:
        self.problem = Problem(path, message, remedy)
        super().__init__(message)


def find_problem(data: Any, descriptor: Descriptor, path: FieldPath = ()) -> Problem | None:
    """The first reason why `data` is not the JSON form of the message, in file order; None when it is."""
    try:
        _message(data, descriptor, path)
    except _Found as found:
        return found.problem
    return None


def suggestion(name: str, known: list[str]) -> str:
    """A remedy for a misspelt name: the nearest known one, else all of them."""
    folded = {_folded(item): item for item in known}
    close = difflib.get_close_matches(_folded(name), list(folded), n=1)
    if close:
        return f"did you mean {folded[close[0]]!r}?"
    return f"known names: {', '.join(known)}"


def _folded(name: str) -> str:
    """`displayName`, `display_name` and `display-name` are near each other."""
    return name.replace("_", "").replace("-", "").lower()


def _message(data: Any, descriptor: Descriptor, path: FieldPath) -> None:
    if descriptor.full_name.startswith("google.protobuf."):
        _well_known(data, descriptor, path)
        return
    if not isinstance(data, dict):
        raise _Found(path, f"{_shown(data)} stands where a {descriptor.name} is expected", "write its fields here")
    fields = {field.json_name: field for field in descriptor.fields}
    for name, value in data.items():
        if name not in fields:
            raise _Found(
                (*path, str(name)), f"{descriptor.name} has no such field", suggestion(str(name), list(fields))
            )
        _field(value, fields[name], (*path, name))
    for choice in descriptor.oneofs:
        given = [field.json_name for field in choice.fields if field.json_name in data]
        if len(given) > 1:
            raise _Found(path, f"{' and '.join(given)} exclude each other", "keep one of them")


def _field(value: Any, field: FieldDescriptor, path: FieldPath) -> None:
    if value is None:
        raise _Found(path, "this field has no value", "give it one, or remove the line")
    if _is_map(field):
        if not isinstance(value, dict):
            raise _Found(path, f"{_shown(value)} stands where names and values are expected", "write NAME: value")
        for key, item in value.items():
            _single(key, field.message_type.fields_by_name["key"], (*path, str(key)))
            _single(item, field.message_type.fields_by_name["value"], (*path, str(key)))
    elif field.is_repeated:
        if not isinstance(value, list):
            raise _Found(path, f"{_shown(value)} stands where a list is expected", "begin each item with '- '")
        for position, item in enumerate(value):
            _single(item, field, (*path, position))
    else:
        _single(value, field, path)


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _single(value: Any, field: FieldDescriptor, path: FieldPath) -> None:
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_MESSAGE:
        _message(value, field.message_type, path)
    elif kind == FieldDescriptor.CPPTYPE_ENUM:
        names = [item.name for item in field.enum_type.values]
        if value not in names:
            raise _Found(path, f"{_shown(value)} is no {field.enum_type.name}", suggestion(str(value), names))
    elif kind == FieldDescriptor.CPPTYPE_STRING:
        if not isinstance(value, str):
            raise _Found(path, f"{_shown(value)} stands where text is expected", "write it in quotes")
    elif kind == FieldDescriptor.CPPTYPE_BOOL:
        if not isinstance(value, bool):
            raise _Found(path, f"{_shown(value)} stands where true or false is expected", "write true or false")
    elif kind in _INTEGERS:
        _integer(value, _INTEGERS[kind], path)
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise _Found(path, f"{_shown(value)} stands where a number is expected", "write a number")


def _integer(value: Any, limits: tuple[int, int], path: FieldPath) -> None:
    """proto3 JSON writes int64 as text, so both `2` and `"2"` are right."""
    number = value
    if isinstance(value, str) and value.removeprefix("-").isdecimal():
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or not limits[0] <= number <= limits[1]:
        raise _Found(path, f"{_shown(value)} stands where a whole number is expected", "write a number such as 1")


def _well_known(data: Any, descriptor: Descriptor, path: FieldPath) -> None:
    remedy = "write it as in the API's JSON"
    if descriptor.name == "Duration":
        remedy = "write seconds with an s, such as '3600s'"
    try:
        json_format.ParseDict(data, descriptor._concrete_class())
    except json_format.ParseError:
        raise _Found(path, f"{_shown(data)} is no {descriptor.name}", remedy) from None


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
