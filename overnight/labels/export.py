"""Write the label files of a snapshot: the live rows beside their place in the shards, in key order."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from overnight.config import SplitConfig
from overnight.files import sha256_file
from overnight.labels.content import SNAPSHOT_SCHEMA, ContentDigest
from overnight.labels.errors import LabelsError
from overnight.labels.split import SPLITS

ROWS_PER_FILE = 2_000_000
_BATCH_ROWS = 500_000
_INDEX_COLUMNS = ("key", "shard", "row", "offset", "size", "width", "height", "sha256")


@dataclass(frozen=True, kw_only=True)
class LabelFile:
    """One written file, as the manifest lists it."""

    path: str
    sha256: str
    size: int
    rows: int


@dataclass(frozen=True, kw_only=True)
class Export:
    """What was written, and the digest of its content."""

    classes: tuple[str, ...]
    files: tuple[LabelFile, ...]
    content_sha256: str


def export_labels(
    connection: duckdb.DuckDBPyConnection, index: Path, split: SplitConfig, folder: Path, rows_per_file: int
) -> Export:
    """Write labels-NNNNN.parquet into `folder` from the relation `live` and the shard index.

    Raises LabelsError when the index is not sorted by key, OSError when the disk is full.
    """
    classes = _number_classes(connection)
    digest = ContentDigest(list(classes), split.model_dump())
    files = []
    with _FileWriter(folder, rows_per_file) as writer:
        for batch in _snapshot_batches(connection, index):
            digest.update(batch)
            writer.write(batch)
    for path, rows in writer.written:
        files.append(LabelFile(path=path.name, sha256=sha256_file(path), size=path.stat().st_size, rows=rows))
    return Export(classes=classes, files=tuple(files), content_sha256=digest.hexdigest())


class _FileWriter:
    """Cuts a stream of rows into Parquet files; `written` lists them with their rows."""

    def __init__(self, folder: Path, rows_per_file: int) -> None:
        self._folder = folder
        self._rows_per_file = rows_per_file
        self._writer: pq.ParquetWriter | None = None
        self.written: list[tuple[Path, int]] = []

    def __enter__(self) -> "_FileWriter":
        return self

    def __exit__(self, *error: object) -> None:
        self._close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows to the current file, beginning the next one where it is full."""
        while batch.num_rows:
            writer = self._writer or self._open()
            path, rows = self.written[-1]
            taken = batch.slice(0, self._rows_per_file - rows)
            writer.write_batch(taken)
            self.written[-1] = (path, rows + taken.num_rows)
            batch = batch.slice(taken.num_rows)
            if rows + taken.num_rows == self._rows_per_file:
                self._close()

    def _open(self) -> pq.ParquetWriter:
        path = self._folder / f"labels-{len(self.written):05d}.parquet"
        self._writer = pq.ParquetWriter(path, SNAPSHOT_SCHEMA, compression="zstd", use_dictionary=["split", "class_id"])
        self.written.append((path, 0))
        return self._writer

    def _close(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._writer = None
        _make_durable(self.written[-1][0])


def _number_classes(connection: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    """Make `class_ids(code, class_id)` for the classes that have rows; return their names in id order."""
    connection.execute(
        """CREATE OR REPLACE TEMP TABLE class_ids AS
        SELECT code, (row_number() OVER (ORDER BY code) - 1)::INTEGER AS class_id
        FROM (SELECT DISTINCT code FROM live)"""
    )
    found = connection.execute("SELECT label FROM class_ids JOIN codes USING (code) ORDER BY class_id")
    return tuple(label for (label,) in found.fetchall())


def _snapshot_batches(connection: duckdb.DuckDBPyConnection, index: Path) -> Iterator[pa.RecordBatch]:
    """The snapshot's rows with SNAPSHOT_SCHEMA, walking the index from its first row to its last."""
    start, last_key = 0, ""
    for images in pq.ParquetFile(index).iter_batches(batch_size=_BATCH_ROWS, columns=list(_INDEX_COLUMNS)):
        last_key = _check_order(images.column("key"), last_key, index)
        labels = connection.sql(
            """SELECT pos, class_id, split, group_id FROM live JOIN class_ids USING (code)
            WHERE pos >= ? AND pos < ? ORDER BY pos""",
            params=[start, start + images.num_rows],
        )
        yield _joined(images, labels.to_arrow_table(), start)
        start += images.num_rows


def _joined(images: pa.RecordBatch, labels: pa.Table, start: int) -> pa.RecordBatch:
    """The labelled rows of one batch of the index, whose first row has position `start`."""
    positions = pc.subtract(labels.column("pos"), start)
    columns = dict(zip(_INDEX_COLUMNS, images.select(list(_INDEX_COLUMNS)).take(_one(positions)).columns, strict=True))
    codes = _one(labels.column("split")).to_numpy(zero_copy_only=False).astype(np.int8)
    columns["split"] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(SPLITS))
    columns["class_id"] = _one(labels.column("class_id"))
    columns["group_id"] = _one(labels.column("group_id"))
    return pa.RecordBatch.from_arrays([columns[name] for name in SNAPSHOT_SCHEMA.names], schema=SNAPSHOT_SCHEMA)


def _one(column: pa.ChunkedArray) -> pa.Array:
    """The column as a single array."""
    chunks = column.combine_chunks()
    return chunks if isinstance(chunks, pa.Array) else pa.concat_arrays(chunks.chunks)


def _check_order(keys: pa.Array, last_key: str, index: Path) -> str:
    """Raise LabelsError unless keys ascend, from `last_key` on; return the last one."""
    if len(keys) == 0:
        return last_key
    ascending = keys[0].as_py() > last_key and pc.all(pc.less(keys[:-1], keys[1:]), min_count=0).as_py()
    if not ascending:
        raise LabelsError(
            "the index is not sorted by key, or a key stands in it twice",
            where=str(index),
            remedy="build the shard set again",
        )
    return str(keys[-1].as_py())


def _make_durable(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
