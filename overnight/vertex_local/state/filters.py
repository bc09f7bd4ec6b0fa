"""List filters: the part of AIP-160 that Vertex AI documents for its list methods.

    display_name = "weekly" AND (state = "JOB_STATE_RUNNING" OR labels.team:*) AND NOT create_time < "2026-01-01"

OR binds tighter than AND, and two terms side by side are ANDed (google.aip.dev/160). `:` is a wildcard match on
strings (`display_name:"weekly_*"`), the presence of a map's key (`labels:team`), the presence of a field (`end_time:*`)
or membership of a list. Field names may be snake_case or camelCase. Functions, and fields that the message does not
have, come from the caller.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from overnight.vertex_local.api.errors import invalid
from overnight.vertex_local.state.values import ABSENT, compare, has, read

Predicate = Callable[[Any], bool]
Extras = Mapping[str, Callable[..., Any]]
"""Name -> `function(message)` for a field, `function(message, argument)` for a function."""

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<operator><=|>=|!=|=|<|>|:)|(?P<mark>[().,])"""
    r"""|(?P<word>\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?|[^\s"'()<>=!:,.]+(?:\.\d+\b)?))"""
)
_DEEPEST = 32


def predicate(text: str, extras: Extras | None = None) -> Predicate:
    """Whether a message passes the filter `text` (an empty one lets everything pass); raises ApiError."""
    if not text.strip():
        return lambda _: True
    return _Parser(text, extras or {}).whole()


class _Parser:
    """Recursive descent; each method reads one construct and returns its predicate."""

    def __init__(self, text: str, extras: Extras) -> None:
        self._text = text
        self._extras = extras
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Predicate:
        found = self._expression()
        if self._at < len(self._tokens):
            raise self._wrong()
        return found

    def _expression(self) -> Predicate:
        terms = [self._alternatives()]
        while self._at < len(self._tokens) and self._peek() != ("mark", ")"):
            if self._word("AND"):
                self._at += 1
            terms.append(self._alternatives())
        return lambda message: all(term(message) for term in terms)

    def _alternatives(self) -> Predicate:
        terms = [self._term()]
        while self._word("OR"):
            self._at += 1
            terms.append(self._term())
        return lambda message: any(term(message) for term in terms)

    def _term(self) -> Predicate:
        if self._word("NOT"):
            self._at += 1
            inner = self._term()
            return lambda message: not inner(message)
        if self._peek() != ("mark", "("):
            return self._restriction()
        self._at += 1
        self._depth += 1
        if self._depth > _DEEPEST:
            raise invalid("The filter is nested too deeply.")
        inner = self._expression()
        self._take("mark", ")")
        self._depth -= 1
        return inner

    def _restriction(self) -> Predicate:
        path = self._path()
        if self._peek() == ("mark", "("):
            return self._call(path[0])
        operator = self._take("operator")
        kind, value = self._next()
        if kind not in ("string", "word"):
            raise self._wrong()
        return self._comparison(path, operator, value, quoted=kind == "string")

    def _comparison(self, path: Sequence[str], operator: str, value: str, quoted: bool) -> Predicate:
        extra = self._extras.get(path[0])
        if extra is not None:
            return lambda message: _holds(extra(message), operator, value, quoted)
        return lambda message: _holds(read(message, path), operator, value, quoted)

    def _call(self, name: str) -> Predicate:
        function = self._extras.get(name)
        if function is None:
            raise invalid(f"The filter function {name} is not supported.")
        self._at += 1
        _, argument = self._next()
        self._take("mark", ")")
        return lambda message: bool(function(message, argument))

    def _path(self) -> list[str]:
        kind, first = self._next()
        if kind not in ("word", "string"):
            raise self._wrong()
        parts = first.split(".") if kind == "word" else [first]
        while self._peek() == ("mark", "."):
            self._at += 1
            kind, part = self._next()
            if kind not in ("word", "string"):
                raise self._wrong()
            parts.append(part)
        return [_snake(parts[0]), *parts[1:]]

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at] if self._at < len(self._tokens) else ("end", "")

    def _word(self, word: str) -> bool:
        return self._peek() == ("word", word)

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, kind: str, value: str | None = None) -> str:
        found, text = self._next()
        if found != kind or (value is not None and text != value):
            raise self._wrong()
        return text

    def _wrong(self) -> Exception:
        return invalid(f"The filter is not valid: {self._text}")


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise invalid(f"The filter is not valid: {text}")
        kind = str(match.lastgroup)
        value = match[kind]
        found.append((kind, re.sub(r"\\(.)", r"\1", value[1:-1]) if kind == "string" else value))
        at = match.end()
    return found


def _holds(found: Any, operator: str, value: str, quoted: bool) -> bool:
    if operator == ":":
        return has(found, value, quoted)
    if found is ABSENT:
        return operator == "!="
    return compare(found, operator, value)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)


def keep(messages: Sequence[Message], text: str, extras: Extras | None = None) -> list[Message]:
    """The messages that pass a filter, in their order."""
    passes = predicate(text, extras)
    return [message for message in messages if passes(message)]
