"""Check plain data against a protobuf message, field by field, before it is parsed.

`google.protobuf.json_format` accepts an empty list for a message, both spellings of a field and a
number for an enum, and says where an error is only for some of them. This check names the field always,
and takes the API's JSON names only.
"""

import difflib
from dataclasses import dataclass, field
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from overnight.forms.fields import FieldPath
from overnight.forms.findings import Finding, Rule, error

UNKNOWN_FIELD = error("unknown-field", "Every field is one of the API's, in its JSON spelling.", "API v1 protobuf")
WRONG_VALUE = error("wrong-value", "Every value is of its field's type, enum or range.", "API v1 protobuf")
EXCLUSIVE_FIELDS = error(
    "exclusive-fields",
    "Of alternatives such as containerSpec and pythonPackageSpec one is given.",
    "0 rule 3; API v1 protobuf (oneof)",
)

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
}
_WRONG = object()
"""Stands for a value that is left out of the checked data."""


@dataclass
class Form:
    """What the check of one message found, and the message without it."""

    findings: list[Finding] = field(default_factory=list)
    data: Any = None

    def refuse(self, rule: Rule, path: FieldPath, message: str, remedy: str) -> Any:
        """Note a finding; the value at `path` is to be left out."""
        self.findings.append(rule.at(path, message, remedy))
        return _WRONG


def check_form(data: Any, descriptor: Descriptor, path: FieldPath = ()) -> Form:
    """Every reason why `data` is not the JSON form of the message, in file order, and `data` without those parts."""
    form = Form()
    cleaned = _message(data, descriptor, path, form)
    form.data = {} if cleaned is _WRONG else cleaned
    return form


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


def _message(data: Any, descriptor: Descriptor, path: FieldPath, form: Form) -> Any:
    if descriptor.full_name.startswith("google.protobuf."):
        return _well_known(data, descriptor, path, form)
    if not isinstance(data, dict):
        said = f"{shown(data)} stands where a {descriptor.name} is expected"
        return form.refuse(WRONG_VALUE, path, said, "write its fields here")
    fields = {item.json_name: item for item in descriptor.fields}
    kept: dict[str, Any] = {}
    for name, value in data.items():
        if name in fields:
            kept[name] = _field(value, fields[name], (*path, name), form)
        else:
            where = (*path, str(name))
            said = f"{descriptor.name} has no such field"
            form.refuse(UNKNOWN_FIELD, where, said, suggestion(str(name), list(fields)))
    for choice in descriptor.oneofs:
        names = {item.json_name for item in choice.fields}
        given = [name for name in kept if name in names]
        if len(given) > 1:
            form.refuse(
                EXCLUSIVE_FIELDS, (*path, given[1]), f"{' and '.join(given)} exclude each other", "keep one of them"
            )
            kept = {name: value for name, value in kept.items() if name not in given}
    return {name: value for name, value in kept.items() if value is not _WRONG}


def _field(value: Any, spec: FieldDescriptor, path: FieldPath, form: Form) -> Any:
    if value is None:
        return form.refuse(WRONG_VALUE, path, "this field has no value", "give it one, or remove the line")
    if _is_map(spec):
        if not isinstance(value, dict):
            said = f"{shown(value)} stands where names and values are expected"
            return form.refuse(WRONG_VALUE, path, said, "write NAME: value")
        key, item = (spec.message_type.fields_by_name[name] for name in ("key", "value"))
        pairs = [
            (_single(k, key, (*path, str(k)), form), _single(v, item, (*path, str(k)), form)) for k, v in value.items()
        ]
        return {k: v for k, v in pairs if k is not _WRONG and v is not _WRONG}
    if spec.is_repeated:
        if not isinstance(value, list):
            said = f"{shown(value)} stands where a list is expected"
            return form.refuse(WRONG_VALUE, path, said, "begin each item with '- '")
        items = [_single(item, spec, (*path, position), form) for position, item in enumerate(value)]
        # A wrong pool stays as a placeholder: the pools after it keep their numbers.
        empty: Any = {} if spec.cpp_type == FieldDescriptor.CPPTYPE_MESSAGE else None
        return [empty if item is _WRONG else item for item in items if item is not _WRONG or empty is not None]
    return _single(value, spec, path, form)


def _is_map(spec: FieldDescriptor) -> bool:
    return spec.message_type is not None and bool(spec.message_type.GetOptions().map_entry)


def _single(value: Any, spec: FieldDescriptor, path: FieldPath, form: Form) -> Any:
    kind = spec.cpp_type
    if kind == FieldDescriptor.CPPTYPE_MESSAGE:
        return _message(value, spec.message_type, path, form)
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        names = [item.name for item in spec.enum_type.values]
        if value in names:
            return value
        return form.refuse(
            WRONG_VALUE, path, f"{shown(value)} is no {spec.enum_type.name}", suggestion(str(value), names)
        )
    expected = _expected(value, kind)
    if expected is None:
        return value
    what, remedy = expected
    return form.refuse(WRONG_VALUE, path, f"{shown(value)} stands where {what} is expected", remedy)


def _expected(value: Any, kind: int) -> tuple[str, str] | None:
    """What a scalar should have been and how to write it; None when it is right."""
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return None if isinstance(value, str) else ("text", "write it in quotes")
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return None if isinstance(value, bool) else ("true or false", "write true or false")
    if kind in _INTEGERS:
        return None if _fits(value, _INTEGERS[kind]) else ("a whole number", "write a number such as 1")
    right = isinstance(value, int | float) and not isinstance(value, bool)
    return None if right else ("a number", "write a number")


def _fits(value: Any, limits: tuple[int, int]) -> bool:
    """proto3 JSON writes int64 as text, so both `2` and `"2"` are right."""
    number = value
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdecimal():
        number = int(value)
    return isinstance(number, int) and not isinstance(number, bool) and limits[0] <= number <= limits[1]


def _well_known(data: Any, descriptor: Descriptor, path: FieldPath, form: Form) -> Any:
    remedy = "write it as in the API's JSON"
    if descriptor.name == "Duration":
        remedy = "write seconds with an s, such as '3600s'"
    try:
        json_format.ParseDict(data, descriptor._concrete_class())
    except json_format.ParseError:
        return form.refuse(WRONG_VALUE, path, f"{shown(data)} is no {descriptor.name}", remedy)
    return data


def shown(value: Any) -> str:
    """A value as a message quotes it."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
