"""What differs between two snapshots, by key."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb

from overnight.labels.snapshots import Snapshot
from overnight.labels.staging import parquet_text, working_connection

EXAMPLES = 20


@dataclass(frozen=True, kw_only=True)
class LabelChange:
    """How many keys went from one class to another."""

    old: str
    new: str
    keys: int


@dataclass(frozen=True, kw_only=True)
class ClassChange:
    """A class's rows in both snapshots."""

    name: str
    before: int
    after: int


@dataclass(frozen=True, kw_only=True)
class SnapshotDiff:
    """The difference from snapshot `before` to snapshot `after`; counts are keys, lists hold the first EXAMPLES."""

    before: str
    after: str
    added: int
    removed: int
    relabelled: int
    changed_images: int
    regrouped: int
    """Keys with another group_id."""
    moved: int
    """Keys in another split."""
    classes: tuple[ClassChange, ...]
    label_changes: tuple[LabelChange, ...]
    """Class pairs, most frequent first."""
    examples: dict[str, tuple[str, ...]]
    """Keys by kind of difference: added, removed, relabelled, changed_images, regrouped, moved."""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


_KINDS = {
    "added": "a.key IS NULL",
    "removed": "b.key IS NULL",
    "relabelled": "a.label <> b.label",
    "changed_images": "a.sha256 <> b.sha256",
    "regrouped": "a.group_id <> b.group_id",
    "moved": "a.split <> b.split",
}


def diff_snapshots(before: Snapshot, after: Snapshot, scratch: Path) -> SnapshotDiff:
    """Compare two snapshots; DuckDB may spill to the folder `scratch`. Raises LabelsError when a file is missing."""
    with working_connection(scratch) as connection:
        _stage(connection, "before", before)
        _stage(connection, "after", after)
        kinds = ", ".join(f"coalesce({condition}, false) AS {kind}" for kind, condition in _KINDS.items())
        connection.execute(
            f"""CREATE TEMP TABLE differences AS SELECT * FROM (
                SELECT coalesce(a.key, b.key) AS key, a.label AS old, b.label AS new, {kinds}
                FROM before AS a FULL JOIN after AS b USING (key)
            ) WHERE {" OR ".join(_KINDS)}"""
        )
        counts = {kind: _count(connection, kind) for kind in _KINDS}
        return SnapshotDiff(
            before=before.name,
            after=after.name,
            **counts,
            classes=_class_changes(before, after),
            label_changes=_label_changes(connection),
            examples={kind: _examples(connection, kind) for kind in _KINDS},
        )


def _stage(connection: duckdb.DuckDBPyConnection, name: str, snapshot: Snapshot) -> None:
    snapshot.check_files()
    connection.execute(f"CREATE TEMP TABLE {name}_classes (class_id INTEGER, label VARCHAR)")
    connection.executemany(f"INSERT INTO {name}_classes VALUES (?, ?)", list(enumerate(snapshot.classes)))
    files = ", ".join(parquet_text(path) for path in snapshot.label_files)
    connection.execute(
        f"""CREATE TEMP VIEW {name} AS SELECT key, label, group_id, split::VARCHAR AS split, sha256
        FROM read_parquet([{files}]) JOIN {name}_classes USING (class_id)"""
    )


def _count(connection: duckdb.DuckDBPyConnection, kind: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM differences WHERE {kind}").fetchone()
    return int(row[0]) if row else 0


def _examples(connection: duckdb.DuckDBPyConnection, kind: str) -> tuple[str, ...]:
    found = connection.execute(f"SELECT key FROM differences WHERE {kind} ORDER BY key LIMIT {EXAMPLES}")
    return tuple(key for (key,) in found.fetchall())


def _label_changes(connection: duckdb.DuckDBPyConnection) -> tuple[LabelChange, ...]:
    found = connection.execute(
        """SELECT old, new, count(*) FROM differences WHERE relabelled GROUP BY old, new
        ORDER BY count(*) DESC, old, new"""
    )
    return tuple(LabelChange(old=old, new=new, keys=keys) for old, new, keys in found.fetchall())


def _class_changes(before: Snapshot, after: Snapshot) -> tuple[ClassChange, ...]:
    old, new = before.class_rows, after.class_rows
    return tuple(
        ClassChange(name=name, before=old.get(name, 0), after=new.get(name, 0)) for name in sorted({*old, *new})
    )
