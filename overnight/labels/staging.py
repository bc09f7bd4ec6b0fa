"""Bring labels, shard index and previous snapshot together in one DuckDB connection, as small integer tables.

Images are known by `pos`, their position in the shard index (sorted by key): integers join, sort and group many times
faster than keys, and the export needs no sort of its own. Relations made here:

- `labels(key, label, group_id)`: the label table, from the source
- `images(pos, key, phash, picture)`: the shard index; `picture` is a 64-bit hash of the stored bytes' SHA-256
- `quarantine(key)`
- `codes(code, label)`: every label that is not blank, of the label table and of the previous snapshot
- `label_rows(pos, key, code, group_id, split, phash)`: every row of the label table; `key` only where pos is NULL,
  `code` NULL where the label is blank, `group_id` the key where the table has none
- `repeated(pos, rows)`: images with more than one row
- `live(pos, code, group_id, split, phash)`: what the snapshot would hold, one row an image
- `before_rows(pos, code, split, changed)`: the previous snapshot; empty for the first
- `transitions(old, new, split, rows, moved)`: images by class before, class now and split now (NULL where there is
  none), and how many of them stood in another split
"""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from overnight.files import sha256_file
from overnight.labels.errors import LabelsError
from overnight.labels.snapshots import Snapshot
from overnight.labels.split import SPLITS, SplitRule, split_code_sql
from overnight.shards.manifest import TableFile
from overnight.shards.shardset import ShardSet

MEMORY_LIMIT = "2600MB"
"""DuckDB's share of the 4 GB that a snapshot may take; beyond it DuckDB writes to the temporary folder."""
THREADS = 2

BLANK = r"^[\s\p{Z}\p{C}]*$"
"""RE2: nothing that can be seen."""
KEY = "[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*"
"""RE2: docs/formats.md, "Keys"; at most KEY_BYTES long."""
KEY_BYTES = 90


@contextlib.contextmanager
def working_connection(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory DuckDB connection that spills to `folder` and is closed at the end."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY_LIMIT,
        "threads": THREADS,
        "temp_directory": str(folder),
        "preserve_insertion_order": False,
    }
    with duckdb.connect(config=settings) as connection:
        try:
            yield connection
        except (duckdb.IOException, duckdb.OutOfMemoryException, duckdb.InvalidInputException) as error:
            text = " ".join(str(error).split())
            raise LabelsError(
                f"DuckDB could not work through the labels ({text})",
                where=str(folder),
                remedy="free some memory or disk space and try again",
            ) from error


def check_shard_set(shard_set: ShardSet) -> None:
    """Raise LabelsError unless the set's index and quarantine are there and as the manifest says."""
    _check_table(shard_set.index_path, shard_set.manifest.index)
    _check_table(shard_set.quarantine_path, shard_set.manifest.quarantine)


def stage_images(connection: duckdb.DuckDBPyConnection, shard_set: ShardSet) -> None:
    """Make `images` and `quarantine`."""
    connection.execute(
        f"""CREATE TEMP VIEW images AS SELECT file_row_number AS pos, key, phash, hash(sha256) AS picture
        FROM read_parquet({parquet_text(shard_set.index_path)}, file_row_number = true)"""
    )
    connection.execute(
        f"""CREATE TEMP TABLE quarantine AS
        SELECT DISTINCT key FROM read_parquet({parquet_text(shard_set.quarantine_path)})"""
    )


def stage_previous(connection: duckdb.DuckDBPyConnection, previous: Snapshot | None) -> None:
    """Make `before(key, label, split, picture)`, the previous snapshot as it was. Raises LabelsError."""
    if previous is None:
        connection.execute(
            """CREATE TEMP TABLE before (key VARCHAR, label VARCHAR, split UTINYINT, picture UBIGINT);
            CREATE TEMP TABLE before_classes (class_id INTEGER, label VARCHAR)"""
        )
        return
    previous.check_files()
    classes = pa.table({"class_id": pa.array(range(len(previous.classes)), pa.int32()), "label": previous.classes})
    connection.register("before_classes_arrow", classes)
    connection.execute("CREATE TEMP TABLE before_classes AS FROM before_classes_arrow")
    files = ", ".join(parquet_text(path) for path in previous.label_files)
    connection.execute(
        f"""CREATE TEMP VIEW before AS
        SELECT key, label, {_split_code("split::VARCHAR")} AS split, hash(sha256) AS picture
        FROM read_parquet([{files}]) JOIN before_classes USING (class_id)"""
    )


def stage_rows(connection: duckdb.DuckDBPyConnection, rule: SplitRule) -> None:
    """Make `codes`, `label_rows`, `repeated` and `live`; needs `labels`, `images`, `before_classes`."""
    connection.execute(
        f"""CREATE TEMP TABLE codes AS SELECT (row_number() OVER (ORDER BY label) - 1)::INTEGER AS code, label FROM (
            (SELECT DISTINCT label FROM labels WHERE label IS NOT NULL) UNION (SELECT label FROM before_classes)
        ) WHERE NOT regexp_matches(label, '{BLANK}')"""
    )
    connection.execute(
        f"""CREATE TEMP TABLE label_rows AS
        SELECT pos, CASE WHEN pos IS NULL THEN key END AS key, code, group_id,
            {split_code_sql(rule, "group_id")} AS split, phash
        FROM (
            SELECT pos, key, code, phash,
                CASE WHEN group_id IS NULL OR trim(group_id) = '' THEN key ELSE group_id END AS group_id
            FROM labels LEFT JOIN codes USING (label) LEFT JOIN images USING (key)
        )"""
    )
    connection.execute(
        """CREATE TEMP TABLE repeated AS
        SELECT pos, count(*) AS rows FROM label_rows WHERE pos IS NOT NULL GROUP BY pos HAVING count(*) > 1"""
    )
    connection.execute(
        """CREATE TEMP VIEW live AS
        SELECT pos, code, group_id, split, phash FROM label_rows
        WHERE pos IS NOT NULL AND code IS NOT NULL AND pos NOT IN (SELECT pos FROM repeated)
        UNION ALL
        SELECT pos, min(code), min(group_id), arg_min(split, group_id), min(phash) FROM label_rows
        WHERE code IS NOT NULL AND pos IN (SELECT pos FROM repeated) GROUP BY pos HAVING min(code) = max(code)"""
    )


def stage_before_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Make `before_rows`; needs `before`, `codes` and `images`."""
    connection.execute(
        """CREATE TEMP TABLE before_rows AS
        SELECT images.pos, codes.code, before.split, coalesce(before.picture <> images.picture, false) AS changed
        FROM before JOIN codes USING (label) LEFT JOIN images USING (key)"""
    )


def stage_transitions(connection: duckdb.DuckDBPyConnection) -> None:
    """Make `transitions`; needs `live` and `before_rows`."""
    connection.execute(
        """CREATE TEMP TABLE transitions AS
        SELECT before_rows.code AS old, live.code AS new, live.split AS split, count(*) AS rows,
            count(*) FILTER (before_rows.split <> live.split) AS moved
        FROM live FULL JOIN before_rows USING (pos) GROUP BY ALL"""
    )


def _split_code(column: str) -> str:
    names = " ".join(f"WHEN '{name}' THEN {code}" for code, name in enumerate(SPLITS))
    return f"(CASE {column} {names} END)::UTINYINT"


def _check_table(path: Path, entry: TableFile) -> None:
    if not path.is_file():
        raise LabelsError("this file of the shard set is missing", where=str(path), remedy="build the shard set again")
    if sha256_file(path) != entry.sha256:
        raise LabelsError(
            "this file differs from what the shard set's manifest says",
            where=str(path),
            remedy="restore it, or build the shard set again",
        )


def parquet_text(path: Path) -> str:
    """An SQL text that read_parquet takes as this one file: quotes doubled, pattern characters in brackets."""
    return "'" + re.sub(r"[*?\[]", r"[\g<0>]", str(path)).replace("'", "''") + "'"
