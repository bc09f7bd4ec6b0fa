"""What the model learned from: class balance, label changes, the snapshot's checks."""

from collections import Counter
from dataclasses import dataclass

from overnight.report.sources import Json, Sources
from overnight.wording import percent, signed

SPLITS = ("train", "validation", "test")
MAX_CHANGES = 40


@dataclass(frozen=True)
class BalanceRow:
    """One class in the snapshot."""

    name: str
    train: int
    validation: int
    test: int
    total: int
    share: str
    width: float
    """Percent of the largest class."""
    change: str
    """Against the snapshot before; a dash when there was none."""


@dataclass(frozen=True)
class Check:
    """One check of the snapshot."""

    name: str
    verdict: str
    message: str


@dataclass(frozen=True)
class Move:
    """Labels that went from one class to another."""

    before: str
    after: str
    count: int


@dataclass(frozen=True)
class Data:
    """The snapshot."""

    name: str
    created: str
    rows: int
    previous: str | None
    balance: tuple[BalanceRow, ...]
    totals: BalanceRow
    checks: tuple[Check, ...]
    changes_total: int
    moves: tuple[Move, ...]
    changes: tuple[tuple[str, str, str], ...]
    """(key, before, after), the first of them."""


def build_data(sources: Sources) -> Data | None:
    """The snapshot's manifest and validation; None when the snapshot is gone."""
    if sources.snapshot is None:
        return None
    counts = sources.snapshot["counts"]["classes"]
    before = sources.previous["counts"]["classes"] if sources.previous else None
    names = sorted({*counts, *(before or {})})
    sizes = {name: _sizes(counts.get(name)) for name in names}
    largest = max((sum(size) for size in sizes.values()), default=0)
    total = sum(sum(size) for size in sizes.values())
    old = {name: sum(_sizes(before.get(name))) for name in names} if before is not None else None
    changes = sources.validation["label_changes"] if sources.validation else []
    return Data(
        name=sources.snapshot["name"],
        created=sources.snapshot["created"],
        rows=sources.snapshot["counts"]["rows"],
        previous=sources.snapshot["previous"]["name"] if sources.snapshot["previous"] else None,
        balance=tuple(
            _row(name, sizes[name], total, largest, old[name] if old is not None else None) for name in names
        ),
        totals=_row("all", _summed(sizes), total, total, sum(old.values()) if old is not None else None),
        checks=_checks(sources.validation),
        changes_total=sources.validation["label_changes_total"] if sources.validation else 0,
        moves=_moves(changes),
        changes=tuple((change["key"], change["from"], change["to"]) for change in changes[:MAX_CHANGES]),
    )


def _sizes(counts: Json | None) -> tuple[int, int, int]:
    train, validation, test = ((counts or {}).get(split, 0) for split in SPLITS)
    return train, validation, test


def _summed(sizes: dict[str, tuple[int, int, int]]) -> tuple[int, int, int]:
    train, validation, test = (sum(size[i] for size in sizes.values()) for i in range(3))
    return train, validation, test


def _row(name: str, sizes: tuple[int, int, int], total: int, largest: int, before: int | None) -> BalanceRow:
    count = sum(sizes)
    return BalanceRow(
        name=name,
        train=sizes[0],
        validation=sizes[1],
        test=sizes[2],
        total=count,
        share=percent(count / max(1, total)),
        width=round(100 * count / max(1, largest), 2),
        change="–" if before is None else signed(count - before),
    )


def _checks(validation: Json | None) -> tuple[Check, ...]:
    """Failures first, then warnings; a rejected snapshot trains no model, but a reader may force one."""
    order = {"fail": 0, "warn": 1, "pass": 2}
    found = [
        Check(entry["name"], entry["verdict"], entry["message"]) for entry in (validation or {"checks": []})["checks"]
    ]
    return tuple(sorted(found, key=lambda check: order.get(check.verdict, 3)))


def _moves(changes: list[Json]) -> tuple[Move, ...]:
    counted = Counter((change["from"], change["to"]) for change in changes)
    return tuple(
        Move(before, after, count) for (before, after), count in sorted(counted.items(), key=lambda e: (-e[1], e[0]))
    )
