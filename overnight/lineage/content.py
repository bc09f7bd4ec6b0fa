"""Compute a snapshot's `content_sha256` again from its files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from overnight.labels.content import SNAPSHOT_SCHEMA, ContentDigest
from overnight.labels.split import SPLITS


def content_sha256(label_files: Sequence[Path], classes: list[str], split: dict[str, Any]) -> str:
    """The digest of all rows in file order, the class list and the split; equal to the manifest's when nothing changed.

    Memory stays bounded: one batch of rows at a time.
    """
    digest = ContentDigest(classes, split)
    for path in label_files:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(columns=SNAPSHOT_SCHEMA.names):
                digest.update(_with_split_codes(batch))
    return digest.hexdigest()


def _with_split_codes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with the split's dictionary in the order of SPLITS, whatever order the file's writer chose."""
    names = pa.array(SPLITS, pa.string())
    codes = pc.index_in(batch["split"].cast(pa.string()), value_set=names).cast(pa.int8())
    columns = [
        pa.DictionaryArray.from_arrays(codes, names) if field.name == "split" else batch[field.name].cast(field.type)
        for field in SNAPSHOT_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SNAPSHOT_SCHEMA)
