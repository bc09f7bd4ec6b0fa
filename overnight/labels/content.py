"""The digest of a snapshot's content: the same for every Parquet writer, machine and source.

`content_sha256` is SHA-256 over these bytes, one after the other:

1. The header: canonical JSON (`overnight.files.canonical_json`) of
   `{"format": "overnight.content/1", "columns": [names below], "classes": [...], "split": {salt, train, validation,
   test}}`.
2. The rows in key order, cut into chunks of 65,536 rows (the last one may be shorter). For each chunk: the row count
   as an 8-byte integer, then each column in the order of COLUMNS:
   - key, group_id: the byte length of each value as 4-byte integers, then the UTF-8 bytes of all values
   - split: one byte a row, 0 train, 1 validation, 2 test
   - class_id, shard, row, size, width, height: 4-byte integers
   - offset: 8-byte integers
   - sha256: the 32 bytes

All integers are little-endian and signed. There are no nulls.
"""

import hashlib

import numpy as np
import pyarrow as pa

from overnight.files import canonical_json

CHUNK_ROWS = 65_536

COLUMNS = (
    "key",
    "class_id",
    "split",
    "group_id",
    "shard",
    "row",
    "offset",
    "size",
    "width",
    "height",
    "sha256",
)

SNAPSHOT_SCHEMA = pa.schema(
    [
        pa.field("key", pa.string(), nullable=False),
        pa.field("class_id", pa.int32(), nullable=False),
        pa.field("split", pa.dictionary(pa.int8(), pa.string()), nullable=False),
        pa.field("group_id", pa.string(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("size", pa.int32(), nullable=False),
        pa.field("width", pa.int32(), nullable=False),
        pa.field("height", pa.int32(), nullable=False),
        pa.field("sha256", pa.binary(32), nullable=False),
    ]
)
"""The Arrow schema of labels-NNNNN.parquet; the split's dictionary is SPLITS, so its indices are the split codes."""


class ContentDigest:
    """Takes the rows of a snapshot in key order, batch by batch of any size, and gives `content_sha256`."""

    def __init__(self, classes: list[str], split: dict[str, object]) -> None:
        header = {"format": "overnight.content/1", "columns": COLUMNS, "classes": classes, "split": split}
        self._hash = hashlib.sha256(canonical_json(header))
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = 0

    def update(self, rows: pa.RecordBatch) -> None:
        """Take the next rows; `rows` has SNAPSHOT_SCHEMA with SPLITS as the split's dictionary."""
        start = 0
        while self._waiting_rows + rows.num_rows - start >= CHUNK_ROWS:
            needed = CHUNK_ROWS - self._waiting_rows
            self._waiting.append(rows.slice(start, needed))
            self._hash_waiting()
            start += needed
        if start < rows.num_rows:
            self._waiting.append(rows.slice(start))
            self._waiting_rows += rows.num_rows - start

    def hexdigest(self) -> str:
        """The digest of all rows taken; call it once, at the end."""
        if self._waiting:
            self._hash_waiting()
        return self._hash.hexdigest()

    def _hash_waiting(self) -> None:
        chunk = pa.Table.from_batches(self._waiting).combine_chunks()
        self._waiting, self._waiting_rows = [], 0
        self._hash.update(chunk.num_rows.to_bytes(8, "little"))
        for name in COLUMNS:
            for part in chunk.column(name).chunks:
                _hash_column(self._hash, part)


def _hash_column(digest: "hashlib._Hash", column: pa.Array) -> None:
    start, rows = column.offset, len(column)
    if isinstance(column, pa.DictionaryArray):
        _hash_column(digest, column.indices)
    elif pa.types.is_string(column.type):
        _, offsets_buffer, bytes_buffer = column.buffers()
        offsets = np.frombuffer(offsets_buffer, "<i4", rows + 1, start * 4)
        digest.update(np.diff(offsets).tobytes())
        digest.update(memoryview(bytes_buffer)[offsets[0] : offsets[-1]])
    else:
        width = column.type.byte_width
        digest.update(memoryview(column.buffers()[1])[start * width : (start + rows) * width])
