"""The Parquet tables around shards: schemas, and files whose bytes depend on the rows alone."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DIGEST = pa.binary(32)

INDEX = pa.schema(
    [
        ("key", pa.string()),
        ("shard", pa.int32()),
        ("row", pa.int32()),
        ("offset", pa.int64()),
        ("size", pa.int32()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("sha256", DIGEST),
        ("phash", pa.uint64()),
        ("source", pa.string()),
        ("source_sha256", DIGEST),
        ("orientation", pa.int8()),
        ("converted", pa.string()),
    ]
)
QUARANTINE = pa.schema(
    [
        ("key", pa.string()),
        ("source", pa.string()),
        ("source_sha256", DIGEST),
        ("reason", pa.string()),
        ("detail", pa.string()),
    ]
)
PLAN = pa.schema([("key", pa.string()), ("uri", pa.string()), ("source", pa.string()), ("sha256", DIGEST)])
"""What one shard's worker needs to know of each image; one row group of the plan's file is one shard."""

ROW_GROUP = 131_072


def write_groups(path: Path, schema: pa.Schema, groups: Iterable[pa.Table]) -> None:
    """Write each table of `groups` as one row group. Raises OSError."""
    # A Python file, so that a full disk says so with its errno; pyarrow's own error has none.
    with path.open("wb") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in groups:
            writer.write_table(group.select(schema.names).cast(schema), row_group_size=max(1, group.num_rows))


def regrouped(batches: Iterable[pa.RecordBatch], schema: pa.Schema, rows: int = ROW_GROUP) -> Iterator[pa.Table]:
    """The rows of `batches` in tables of exactly `rows` rows (the last one fewer), however they were cut before."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        while count >= rows:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, rows).cast(schema)
            waiting = table.slice(rows).to_batches()
            count -= rows
    if count:
        yield pa.Table.from_batches(waiting).cast(schema)
