"""What an error means and what to do about it, from a table of what people have met."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from ruamel.yaml import YAML

Kind = Literal["stockout", "internal", "quota", "configuration", "code", "passing"]
"""What to do about it: see known_errors.yaml."""

_METRIC = re.compile(r"aiplatform\.googleapis\.com/[a-z0-9_]+")

_BY_CODE: dict[str, Kind] = {
    "UNAVAILABLE": "passing",
    "DEADLINE_EXCEEDED": "passing",
    "RESOURCE_EXHAUSTED": "quota",
    "INTERNAL": "internal",
}
"""Of google.rpc.Code; every other code is a configuration that does not heal."""


@dataclass(frozen=True)
class KnownError:
    """One row of the table."""

    name: str
    text: str
    kind: Kind
    cause: str
    remedy: str
    source: str
    general: bool = False
    """Left out where another of the same kind says more."""

    def matches(self, text: str) -> bool:
        """Whether it is what `text` says."""
        return re.search(self.text, text, re.IGNORECASE | re.DOTALL) is not None

    @property
    def sentence(self) -> str:
        """`Cause; remedy.`"""
        return f"{self.cause[0].upper()}{self.cause[1:]}; {self.remedy}."


@cache
def known_errors() -> tuple[KnownError, ...]:
    """The table, in the order in which it is searched."""
    rows = YAML(typ="safe", pure=True).load((files("overnight.jobs") / "known_errors.yaml").read_text("utf-8"))
    return tuple(KnownError(**row) for row in rows)


def explain(text: str) -> KnownError | None:
    """The first known error that the text holds."""
    return next(_found(text), None)


def explain_all(text: str) -> list[KnownError]:
    """Every known error that the text holds, for a text of many lines."""
    found = list(_found(text))
    return [row for row in found if not row.general or not any(_says_more(other, row) for other in found)]


def quota_metrics(text: str) -> list[str]:
    """Names of quota metrics in the text, each once."""
    return list(dict.fromkeys(_METRIC.findall(text)))


def refusal_kind(code: str, message: str) -> Kind:
    """What to do about a request that was refused with a google.rpc.Code."""
    if code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
        return "passing"
    known = explain(message)
    if known is not None and known.kind != "code":
        return known.kind
    return _BY_CODE.get(code, "configuration")


def failure_kind(message: str) -> Kind:
    """What to do about a job that has failed; what nobody knows is the program's own."""
    known = explain(message)
    return "code" if known is None or known.kind == "passing" else known.kind


def known_errors_table() -> str:
    """The table as Markdown, as it stands in docs/jobs.md."""
    rows = [f"| `{row.name}` | {row.kind} | {row.cause} | {row.remedy} | {row.source} |" for row in known_errors()]
    return "\n".join(["| name | kind | cause | remedy | source |", "|---|---|---|---|---|", *rows])


def _says_more(other: KnownError, row: KnownError) -> bool:
    """Also across kinds: exit code 2 is configured wrongly, and still an exit."""
    return not other.general and (other.kind == row.kind or other.name.startswith(f"{row.name}-"))


def _found(text: str) -> Iterator[KnownError]:
    return (row for row in known_errors() if row.matches(text))
