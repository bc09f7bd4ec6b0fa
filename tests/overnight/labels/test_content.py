"""The content's digest follows its written definition and does not see how rows are cut into batches."""

import hashlib
import struct

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.files import canonical_json
from overnight.labels import content
from overnight.labels.content import COLUMNS, SNAPSHOT_SCHEMA, ContentDigest
from overnight.labels.split import SPLITS

CLASSES = ["cat", "dog"]
SPLIT: dict[str, object] = {"salt": "overnight", "train": 0.7, "validation": 0.1, "test": 0.2}


def rows(count: int) -> pa.RecordBatch:
    """`count` rows in which every value differs from its neighbours'."""
    numbers = range(count)
    columns = {
        "key": [f"k{'x' * (number % 5)}{number:07d}" for number in numbers],
        "class_id": [number % 2 for number in numbers],
        "split": [SPLITS[number % 3] for number in numbers],
        "group_id": [f"gruppe-ü-{number // 3}" for number in numbers],
        "shard": [number // 2 for number in numbers],
        "row": [number % 500 for number in numbers],
        "offset": [number * 5_000_000_000 for number in numbers],
        "size": [number + 1000 for number in numbers],
        "width": [number + 1 for number in numbers],
        "height": [number + 2 for number in numbers],
        "sha256": [hashlib.sha256(str(number).encode()).digest() for number in numbers],
    }
    arrays = [pa.array(columns[name], SNAPSHOT_SCHEMA.field(name).type) for name in COLUMNS if name != "split"]
    codes = pa.array([number % 3 for number in numbers], pa.int8())
    arrays.insert(COLUMNS.index("split"), pa.DictionaryArray.from_arrays(codes, pa.array(SPLITS)))
    return pa.RecordBatch.from_arrays(arrays, schema=SNAPSHOT_SCHEMA)


def digest_of(*batches: pa.RecordBatch, classes: list[str] = CLASSES) -> str:
    """The digest of batches taken one after the other."""
    digest = ContentDigest(classes, SPLIT)
    for batch in batches:
        digest.update(batch)
    return digest.hexdigest()


def by_the_book(batch: pa.RecordBatch, chunk_rows: int) -> str:
    """The definition in content.py, row by row in plain Python."""
    header = {"format": "overnight.content/1", "columns": list(COLUMNS), "classes": CLASSES, "split": SPLIT}
    digest = hashlib.sha256(canonical_json(header))
    for start in range(0, batch.num_rows, chunk_rows):
        chunk = batch.slice(start, chunk_rows).to_pydict()
        digest.update(struct.pack("<q", len(chunk["key"])))
        for name in COLUMNS:
            values = chunk[name]
            if name in {"key", "group_id"}:
                texts = [value.encode() for value in values]
                digest.update(b"".join(struct.pack("<i", len(text)) for text in texts) + b"".join(texts))
            elif name == "split":
                digest.update(bytes(SPLITS.index(value) for value in values))
            elif name == "sha256":
                digest.update(b"".join(values))
            else:
                digest.update(b"".join(struct.pack("<q" if name == "offset" else "<i", value) for value in values))
    return digest.hexdigest()


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 20])
def test_the_digest_is_as_defined(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "CHUNK_ROWS", 7)
    batch = rows(count)
    assert digest_of(batch) == by_the_book(batch, 7)


def test_the_digest_is_as_defined_over_whole_chunks() -> None:
    batch = rows(content.CHUNK_ROWS + 3)
    assert digest_of(batch) == by_the_book(batch, content.CHUNK_ROWS)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 40), max_size=8))
def test_batches_do_not_show(sizes: list[int]) -> None:
    batch = rows(50)
    parts, start = [], 0
    for size in sizes:
        parts.append(batch.slice(start, size))
        start = min(start + size, 50)
    parts.append(batch.slice(start))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(content, "CHUNK_ROWS", 16)
        assert digest_of(*parts) == digest_of(batch)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_counts(name: str) -> None:
    batch = rows(5)
    position = COLUMNS.index(name)
    column = batch.column(position)
    turned = column.take(pa.array([3, 4, 2, 1, 0]))
    changed = batch.set_column(position, SNAPSHOT_SCHEMA.field(name), turned)
    assert digest_of(changed) != digest_of(batch)


def test_the_class_list_counts() -> None:
    assert digest_of(rows(5), classes=["cat", "cow"]) != digest_of(rows(5))
