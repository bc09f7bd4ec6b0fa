"""Order and pages of list methods. A page token points behind the last message given out, so that messages which
come or go between two pages neither shift nor repeat the others.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from google.protobuf.message import Message

from overnight.vertex_local.api.errors import invalid
from overnight.vertex_local.state.values import ABSENT, read

DEFAULT_SIZE = 100
LARGEST_SIZE = 1000

Keyed = tuple[list[Any], Message]


class _Order:
    """One sort key that knows its direction."""

    def __init__(self, values: Sequence[Any], descending: Sequence[bool]) -> None:
        self._values = values
        self._descending = descending

    def __lt__(self, other: "_Order") -> bool:
        for mine, its, descending in zip(self._values, other._values, self._descending, strict=True):
            if mine != its:
                return bool(its < mine) if descending else bool(mine < its)
        return False


def page(
    rows: Sequence[tuple[int, Message]], order_by: str, size: int, token: str, of: str
) -> tuple[list[Message], str]:
    """One page of `rows` (number, message) and the token of the next page, empty at the end.

    `of` stands for everything else in the request: a token is refused with another one. Without `order_by`
    the newest come first. Raises ApiError INVALID_ARGUMENT.
    """
    if size < 0:
        raise invalid("The page size must not be negative.")
    paths, descending = _parsed(order_by)
    keyed = [([*(_sortable(read(message, path)) for path in paths), number], message) for number, message in rows]
    keyed.sort(key=lambda pair: _Order(pair[0], descending))
    digest = hashlib.sha256(f"{of}\n{order_by}".encode()).hexdigest()[:16]
    if token:
        last = _Order(_opened(token, digest, len(descending)), descending)
        keyed = [pair for pair in keyed if last < _Order(pair[0], descending)]
    size = min(size or DEFAULT_SIZE, LARGEST_SIZE)
    shown = keyed[:size]
    return [message for _, message in shown], _token(digest, shown[-1][0]) if len(keyed) > size else ""


def _parsed(order_by: str) -> tuple[list[list[str]], list[bool]]:
    """Paths and directions, the last direction being that of the row's number."""
    paths: list[list[str]] = []
    descending: list[bool] = []
    for part in filter(None, (part.strip() for part in order_by.split(","))):
        words = part.split()
        if len(words) > 2 or (len(words) == 2 and words[1].lower() not in ("asc", "desc")):
            raise invalid(f"The order {order_by} is not valid.")
        paths.append(words[0].split("."))
        descending.append(len(words) == 2 and words[1].lower() == "desc")
    return paths, [*descending, descending[-1] if descending else True]


def _sortable(value: Any) -> list[Any]:
    """A value that JSON can hold, in a list so that absent ones sort first."""
    if value is ABSENT:
        return []
    if isinstance(value, datetime):
        return [value.isoformat(timespec="microseconds")]
    if isinstance(value, str | int | float | bool):
        return [value]
    raise invalid("Only fields with one plain value can be used in an order.")


def _token(digest: str, key: list[Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps([digest, *key]).encode()).decode()


def _opened(token: str, digest: str, length: int) -> list[Any]:
    try:
        found, *key = json.loads(base64.urlsafe_b64decode(token))
    except (ValueError, TypeError, binascii.Error):
        raise invalid("The page token is not valid.") from None
    if found != digest or len(key) != length:
        raise invalid("The page token belongs to a request with another parent, filter or order.")
    return list(key)
