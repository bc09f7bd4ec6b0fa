"""Values as Terraform sends them: plain Python data in which a part may be known only after apply."""

import json
import string
from collections.abc import Iterator, Mapping
from typing import Any

Steps = tuple[str | int, ...]
"""Where a part stands: names of attributes and blocks, positions in lists."""


class Unknown:
    """A value that exists only after apply."""

    def __repr__(self) -> str:
        return "(known after apply)"

    def __bool__(self) -> bool:
        return False

    def __deepcopy__(self, memo: object) -> "Unknown":
        return self


UNKNOWN = Unknown()


def is_known(value: Any) -> bool:
    """Whether no part of the value is unknown."""
    if isinstance(value, dict):
        return all(map(is_known, value.values()))
    if isinstance(value, list):
        return all(map(is_known, value))
    return value is not UNKNOWN


def is_set(value: Any) -> bool:
    """Whether a configuration sets this argument or block; an unknown value will be something."""
    return value is UNKNOWN or value not in (None, [], {}, False)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal; what is unknown equals nothing but the unknown."""
    return canonical(one) == canonical(other)


def canonical(value: Any) -> str:
    """One text for one value."""
    return json.dumps(value, sort_keys=True, default=repr)


def parts(value: Any, path: str) -> Iterator[tuple[Steps, Any]]:
    """Every part of `value` under a dotted path of names, through all elements of the blocks on the way."""
    found: list[tuple[Steps, Any]] = [((), value)]
    for name in path.split("."):
        found = [
            ((*steps, *index, name), element.get(name))
            for steps, part in found
            for index, element in _elements(part)
            if isinstance(element, dict)
        ]
    yield from found


def _elements(part: Any) -> list[tuple[Steps, Any]]:
    return [((number,), element) for number, element in enumerate(part)] if isinstance(part, list) else [((), part)]


def render(template: str, scope: Mapping[str, Any]) -> str | None:
    """Fill `{name}` and `{name/}` (what follows the last slash); None where a part is missing or unknown."""
    text = ""
    for literal, field, _, _ in string.Formatter().parse(template):
        text += literal
        if field is None:
            continue
        value = scope.get(field.removesuffix("/"))
        if value is None or not is_known(value):
            return None
        text += str(value).rsplit("/", 1)[-1] if field.endswith("/") else str(value)
    return text
