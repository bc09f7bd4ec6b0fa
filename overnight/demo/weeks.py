"""What happens in the demo's three weeks: which pictures come when, what analysts correct, how an export breaks."""

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from overnight.demo.pictures import Picture, write_jpeg
from overnight.files import write_atomically

MONDAYS = ("2026-03-02T02:00:00Z", "2026-03-09T02:00:00Z", "2026-03-16T02:00:00Z")
LATE_SHARE = 0.06
"""Share of the groups whose pictures arrive in week 2."""
CORRECTIONS = 40
LOST_SHARE = 0.15
ORPHANS = 25


@dataclass(frozen=True)
class Row:
    """One line of a label table: the picture's key, its class, its group."""

    key: str
    label: str
    group: str


@dataclass(frozen=True)
class Correction:
    """A label that analysts put right in week 2."""

    key: str
    wrong: str
    right: str


@dataclass(frozen=True)
class Weeks:
    """The demo's script: rows imported in weeks 1 and 2, and the corrections between."""

    first: tuple[Row, ...]
    second: tuple[Row, ...]
    corrections: tuple[Correction, ...]


def plan(rows: Sequence[Row]) -> Weeks:
    """Divide `rows` into two weeks and choose the labels that are wrong at first. A pure function of the rows."""
    late = {row.group for row in rows if _rank("late", row.group) < LATE_SHARE}
    first = [row for row in rows if row.group not in late]
    classes = sorted({row.label for row in rows})
    chosen = sorted(first, key=lambda row: _rank("wrong", row.key))[:CORRECTIONS]
    corrections = {
        row.key: Correction(row.key, classes[(classes.index(row.label) + 1) % len(classes)], row.label)
        for row in chosen
    }
    return Weeks(
        first=tuple(
            Row(row.key, corrections[row.key].wrong, row.group) if row.key in corrections else row for row in first
        ),
        second=tuple(row for row in rows if row.group in late),
        corrections=tuple(sorted(corrections.values(), key=lambda correction: correction.key)),
    )


def correction_sql(weeks: Weeks) -> list[str]:
    """The statements with which analysts correct labels in week 2."""
    return [
        f"UPDATE labels SET label = '{correction.right}' WHERE key = '{correction.key}'"
        for correction in weeks.corrections
    ]


def bad_export_sql(rows: Sequence[Row]) -> list[str]:
    """The statements that stand for a bad export in week 3: a part of one class lost, orphans, a duplicated key."""
    (victim, _), *_ = Counter(row.label for row in rows).most_common()[1:]
    members = sorted(row.key for row in rows if row.label == victim)
    lost = members[: round(len(members) * LOST_SHARE)]
    keys = ", ".join(f"'{key}'" for key in lost)
    orphans = ", ".join(f"('gone-{number:03d}', '{victim}', 'gone-{number:03d}')" for number in range(ORPHANS))
    return [
        f"DELETE FROM labels WHERE key IN ({keys})",
        f"INSERT INTO labels VALUES {orphans}",
        f"INSERT INTO labels SELECT * FROM labels WHERE key = '{members[-1]}'",
    ]


def write_images(pictures: Iterable[Picture], folder: Path) -> list[Row]:
    """Write every picture as `<name>.jpg` into `folder`; return their rows."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for picture in pictures:
        write_jpeg(picture, folder / f"{picture.name}.jpg")
        rows.append(Row(picture.name, picture.label, picture.group))
    return rows


def write_table(rows: Sequence[Row], path: Path) -> None:
    """Write a CSV of (path, label, group) that `overnight import` reads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("path", "label", "group"))
    writer.writerows((f"{row.key}.jpg", row.label, row.group) for row in rows)
    write_atomically(path, text.getvalue().encode())


def _rank(purpose: str, name: str) -> float:
    """A number in [0, 1) that depends on the name alone."""
    return int.from_bytes(hashlib.sha256(f"{purpose}:{name}".encode()).digest()[:8], "big") / 2**64
