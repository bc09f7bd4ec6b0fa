"""As much of Cloud Logging's query language as the stacks use, to hold a filter against a log entry.

`AND` binds tighter than `OR` here only because the filters put every mixture in parentheses: in Cloud Logging it is the
other way round, so a mixture without parentheses is refused.
"""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

TOKEN = re.compile(r'\s*(?:(AND|OR|\(|\))|log_id\("([^"]+)"\)|([a-z][\w.]*)(=~|=|:)"((?:[^"\\]|\\.)*)")', re.IGNORECASE)
Entry = dict[str, Any]
Test = Callable[[Entry], bool]


def matches(filter_: str, entry: Entry) -> bool:
    """Whether `filter_` finds `entry`. Raises ValueError for what is not understood."""
    tokens = list(_tokens(filter_))
    test, rest = _expression(tokens)
    if rest:
        raise ValueError(f"not understood from {rest[0].group()!r} on: {filter_}")
    return test(entry)


def _tokens(filter_: str) -> list[re.Match[str]]:
    found, position = [], 0
    while position < len(filter_.rstrip()):
        token = TOKEN.match(filter_, position)
        if token is None:
            raise ValueError(f"not understood: {filter_[position:]}")
        found.append(token)
        position = token.end()
    return found


def _expression(tokens: list[re.Match[str]]) -> tuple[Test, list[re.Match[str]]]:
    first, rest = _term(tokens)
    terms, word = [first], ""
    while rest and (next_word := rest[0].group(1)) in ("AND", "OR"):
        if word not in ("", next_word):
            raise ValueError("AND and OR mixed without parentheses")
        word = next_word
        term, rest = _term(rest[1:])
        terms.append(term)
    combine = any if word == "OR" else all
    return (lambda entry: combine(term(entry) for term in terms)), rest


def _term(tokens: list[re.Match[str]]) -> tuple[Test, list[re.Match[str]]]:
    head, rest = tokens[0], tokens[1:]
    if head.group(1) == "(":
        inside, rest = _expression(rest)
        if not rest or rest[0].group(1) != ")":
            raise ValueError("a parenthesis is not closed")
        return inside, rest[1:]
    if head.group(2):
        log = head.group(2)
        return (lambda entry: unquote(entry["logName"]).endswith(f"/logs/{log}")), rest
    if head.group(3) is None:
        raise ValueError(f"a comparison is missing before {head.group()!r}")
    _, _, path, operator, text = head.groups()
    wanted = re.sub(r"\\(.)", r"\1", text)
    return (lambda entry: _compare(_value(entry, path), operator, wanted)), rest


def _value(entry: Entry, path: str) -> str | None:
    value: Any = entry
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value if isinstance(value, str) else None


def _compare(value: str | None, operator: str, wanted: str) -> bool:
    if value is None:
        return False
    if operator == "=~":
        return re.search(wanted, value) is not None
    return wanted.lower() in value.lower() if operator == ":" else value == wanted
