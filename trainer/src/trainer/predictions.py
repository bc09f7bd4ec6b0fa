"""The predictions file: what a model said about every image of a split (docs/formats.md)."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trainer.metrics import softmax


@dataclass(frozen=True)
class Predictions:
    """Rows in the snapshot's order; `logits` [n, classes] in the order of `classes`."""

    keys: Sequence[str]
    group_ids: Sequence[str]
    labels: Sequence[str]
    """The truth, as names: models with other class lists compare."""
    logits: NDArray[np.float32]
    classes: tuple[str, ...]


def write_predictions(path: Path, predictions: Predictions, facts: Mapping[str, Any]) -> None:
    """Write the Parquet file under a temporary name and rename it. Same predictions, same bytes.

    `facts` (weights_sha256, snapshot_sha256, split, …) go into the schema's metadata. Raises OSError.
    """
    probabilities = softmax(predictions.logits)
    best = probabilities.argmax(axis=1)
    table = pa.table(
        {
            "key": pa.array(predictions.keys, pa.string()),
            "group_id": pa.array(predictions.group_ids, pa.string()),
            "label": pa.array(predictions.labels, pa.string()),
            "predicted": pa.array([predictions.classes[index] for index in best], pa.string()),
            "confidence": pa.array(probabilities[np.arange(len(best)), best], pa.float64()),
            "logits": pa.array(list(predictions.logits.astype(np.float32)), pa.list_(pa.float32())),
        }
    )
    metadata = {"classes": json.dumps(list(predictions.classes)), **{name: _text(facts[name]) for name in facts}}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pq.write_table(table.replace_schema_metadata(metadata), temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
