"""The promotion log: who was champion when, and why. Append-only, each line holding the digest of the line before.

Layout: docs/formats.md, "Model version and promotion log".
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, Literal

from overnight.errors import OvernightError
from overnight.files import sha256_bytes, write_atomically
from overnight.models.registry import HeldModel, checked_name

FIRST = "0" * 64
FILE = "promotions.jsonl"


class PromotionLogError(OvernightError):
    """The promotion log was changed by something other than Overnight."""


@dataclass(frozen=True)
class Decision:
    """One line of the log."""

    time: str
    """UTC, as in 2026-11-30T02:00:00Z."""
    model: str
    version: int
    decision: Literal["promoted", "refused"]
    reason: str
    champion_before: int | None
    run_id: str
    snapshot: Mapping[str, str] | None
    """`{name, sha256}` of the snapshot both models were compared on; None for a rollback."""
    evaluation: Mapping[str, Any] = field(default_factory=dict)
    alias: str = "champion"


def append(model: HeldModel, decision: Decision) -> None:
    """Add `decision` as the last line, durably: after a crash at any moment the log holds the whole line or none.

    The log is a few lines a year and model, so the whole file is written anew and renamed. Raises PromotionLogError
    when the log was tampered with or `decision` is older than the last one.
    """
    path = model.folder / FILE
    before = path.read_bytes() if path.exists() else b""
    known = _parsed(before, path)
    if known and decision.time < known[-1].time:
        raise PromotionLogError(
            f"the decision's time {decision.time} is before the last one's {known[-1].time}",
            where=str(path),
            remedy="give a later time with --now",
        )
    write_atomically(path, before + _line(decision, _digest_of_last(before)))


def entries(models: Path, name: str) -> list[Decision]:
    """All decisions about model `name`, oldest first; empty when there is none.

    Raises PromotionLogError when the chain of digests does not hold.
    """
    path = models / checked_name(name) / FILE
    return _parsed(path.read_bytes(), path) if path.exists() else []


def champion_entry(models: Path, name: str) -> Decision | None:
    """The decision that made the present champion of model `name`; None before the first promotion."""
    return _last_promoted(entries(models, name))


def champion_entry_at(models: Path, name: str, day: date) -> Decision | None:
    """The decision that made the version that was champion at the end of `day` (UTC); None when there was none yet."""
    return _last_promoted([entry for entry in entries(models, name) if _day(entry) <= day])


def champion_now(models: Path, name: str) -> int | None:
    """The version that is champion after the last decision; None before the first promotion."""
    entry = champion_entry(models, name)
    return entry.version if entry else None


def champion_at(models: Path, name: str, day: date) -> int | None:
    """The version that was champion at the end of `day` (UTC); None when there was none yet."""
    entry = champion_entry_at(models, name, day)
    return entry.version if entry else None


def decided(moment: datetime) -> str:
    """A decision's `time` for a UTC moment."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _last_promoted(decisions: list[Decision]) -> Decision | None:
    promoted = [entry for entry in decisions if entry.decision == "promoted" and entry.alias == "champion"]
    return promoted[-1] if promoted else None


def _day(entry: Decision) -> date:
    return datetime.fromisoformat(entry.time).date()


def _line(decision: Decision, previous: str) -> bytes:
    plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in vars(decision).items()}
    record = {**plain, "previous_sha256": previous}
    return (json.dumps(record, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _digest_of_last(data: bytes) -> str:
    lines = data.splitlines(keepends=True)
    return sha256_bytes(lines[-1]) if lines else FIRST


def _parsed(data: bytes, path: Path) -> list[Decision]:
    expected = FIRST
    decisions = []
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        decisions.append(_decision(line, number, expected, path))
        expected = sha256_bytes(line)
    return decisions


def _decision(line: bytes, number: int, expected: str, path: Path) -> Decision:
    where = f"{path}, line {number}"
    try:
        record = json.loads(line)
        previous = record.pop("previous_sha256")
        decision = Decision(**record)
    except (ValueError, TypeError, KeyError, AttributeError):
        raise _tampered("this line is not a decision", where) from None
    if previous != expected:
        raise _tampered("the digest of the line before does not match: a line was changed, added or removed", where)
    if line != _line(decision, previous):
        raise _tampered("this line is not written as Overnight writes it: it was changed", where)
    return decision


def _tampered(problem: str, where: str) -> PromotionLogError:
    return PromotionLogError(problem, where=where, remedy="restore the file from a backup before promoting anything")
