"""Join what earlier sets know with the new shards' parts into one index and one quarantine, sorted by key."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from overnight.files import sha256_file
from overnight.shards.plan import PASSING_REASONS, Known, connect
from overnight.shards.tables import INDEX, QUARANTINE, regrouped, write_groups


@dataclass(frozen=True)
class Merged:
    """A written table: its digest, its rows, and the sum of its `size` column where it has one."""

    sha256: str
    rows: int
    bytes: int


def write_index(target: Path, catalogue: Path, known: Known | None, parts: Path, scratch: Path) -> Merged:
    """Write index.parquet: earlier rows whose image is still catalogued with the same bytes, and the new ones."""
    earlier = _still_catalogued(known.index, catalogue, INDEX) if known else None
    return _write(target, INDEX, earlier, parts / "index-*.parquet", scratch)


def write_quarantine(target: Path, catalogue: Path, known: Known | None, parts: Path, scratch: Path) -> Merged:
    """Write quarantine.parquet in the same way; images that were looked at again keep only the new verdict."""
    earlier = None
    if known:
        earlier = _still_catalogued(known.quarantine, catalogue, QUARANTINE)
        earlier += f" AND reason NOT IN {PASSING_REASONS}"
    return _write(target, QUARANTINE, earlier, parts / "quarantine-*.parquet", scratch)


def _still_catalogued(table: Path, catalogue: Path, schema: pa.Schema) -> str:
    return f"""SELECT {_columns(schema)} FROM read_parquet('{_escaped(table)}') AS earlier WHERE EXISTS (
        FROM read_parquet('{_escaped(catalogue)}') AS image
        WHERE image.key = earlier.key AND image.sha256 = earlier.source_sha256)"""


def _write(target: Path, schema: pa.Schema, earlier: str | None, parts: Path, scratch: Path) -> Merged:
    new = f"SELECT {_columns(schema)} FROM read_parquet('{_escaped(parts)}')"
    query = f"({earlier}) UNION ALL ({new})" if earlier else new
    rows = size = 0

    def counted(table: pa.Table) -> pa.Table:
        nonlocal rows, size
        rows += table.num_rows
        size += pc.sum(table["size"]).as_py() if "size" in schema.names else 0
        return table

    with connect(scratch) as connection:
        batches = connection.sql(f"FROM ({query}) ORDER BY key").to_arrow_reader(100_000)
        write_groups(target, schema, map(counted, regrouped(batches, schema)))
    return Merged(sha256=sha256_file(target), rows=rows, bytes=size)


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f'"{name}"' for name in schema.names)


def _escaped(path: Path) -> str:
    return str(path).replace("'", "''")
