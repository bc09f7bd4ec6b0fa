"""Predictions of one model on one split of one snapshot, as `python -m trainer.evaluate` writes them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from overnight.errors import OvernightError

Strings = npt.NDArray[np.str_]

COLUMNS = ("key", "group_id", "label", "predicted", "confidence")
METADATA = ("classes", "weights_sha256", "snapshot_sha256", "split")


class PredictionsError(OvernightError):
    """A predictions file that is missing, is not one, or does not belong to the comparison."""


@dataclass(frozen=True)
class Predictions:
    """One row an image, sorted by key; labels are names, so models with other class lists compare."""

    keys: Strings
    groups: Strings
    labels: Strings
    """The truth."""
    predicted: Strings
    confidence: npt.NDArray[np.float64]
    """The probability the model gave its answer, 0 to 1."""
    classes: tuple[str, ...]
    """What the model can answer, in the order of its logits."""
    weights_sha256: str
    snapshot_sha256: str
    split: str

    def __len__(self) -> int:
        return len(self.keys)


def read(path: Path) -> Predictions:
    """Read a predictions file (docs/formats.md); raises PredictionsError naming the file and what is wrong."""
    try:
        with pq.ParquetFile(path) as file:
            missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
            if missing:
                raise PredictionsError(f"columns are missing: {', '.join(missing)}", where=str(path))
            table = file.read(columns=list(COLUMNS))
    except FileNotFoundError:
        raise PredictionsError("this predictions file is missing", where=str(path)) from None
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())
        raise PredictionsError(f"this is not a predictions file ({reason})", where=str(path)) from None
    metadata = _metadata(table.schema.metadata or {}, path)
    keys = _strings(table, "key")
    order = np.argsort(keys, kind="stable")
    if len(keys) > 1 and bool(np.any(keys[order][1:] == keys[order][:-1])):
        raise PredictionsError("a key stands in it twice", where=str(path), remedy="evaluate again")
    return Predictions(
        keys=keys[order],
        groups=_strings(table, "group_id")[order],
        labels=_strings(table, "label")[order],
        predicted=_strings(table, "predicted")[order],
        confidence=np.asarray(table["confidence"], dtype=np.float64)[order],
        classes=tuple(json.loads(metadata["classes"])),
        weights_sha256=metadata["weights_sha256"],
        snapshot_sha256=metadata["snapshot_sha256"],
        split=metadata["split"],
    )


def constant(like: Predictions, answer: str) -> Predictions:
    """What a model that always says `answer` predicts for the images of `like`: the majority-class baseline."""
    return Predictions(
        keys=like.keys,
        groups=like.groups,
        labels=like.labels,
        predicted=np.full(len(like), answer),
        confidence=np.ones(len(like)),
        classes=(answer,),
        weights_sha256="",
        snapshot_sha256=like.snapshot_sha256,
        split=like.split,
    )


def require_same_images(models: Sequence[tuple[str, Predictions]]) -> None:
    """Raise PredictionsError unless all were evaluated on the same images of the same snapshot, with the same truth."""
    first_name, first = models[0]
    if len(first) == 0:
        raise PredictionsError(
            f"the {first.split} split has no image to compare on", remedy="enlarge `split` in the environment file"
        )
    for name, other in models[1:]:
        both = f"{first_name} and {name}"
        if (first.snapshot_sha256, first.split) != (other.snapshot_sha256, other.split):
            raise PredictionsError(
                f"{both} were evaluated on different data ({first.split} of snapshot {first.snapshot_sha256[:12]}, "
                f"{other.split} of snapshot {other.snapshot_sha256[:12]})",
                remedy="evaluate both on the same snapshot and split",
            )
        if not np.array_equal(first.keys, other.keys):
            differing = np.setxor1d(first.keys, other.keys)
            raise PredictionsError(
                f"{both} were evaluated on different images ({len(differing)} keys differ, such as {differing[0]})",
                remedy="evaluate both again",
            )
        if not (np.array_equal(first.labels, other.labels) and np.array_equal(first.groups, other.groups)):
            raise PredictionsError(f"{both} disagree about labels or groups", remedy="evaluate both again")


def _metadata(found: dict[bytes, bytes], path: Path) -> dict[str, str]:
    decoded = {key.decode(): value.decode(errors="replace") for key, value in found.items()}
    missing = [name for name in METADATA if name not in decoded]
    if missing:
        raise PredictionsError(f"its metadata lacks {', '.join(missing)}", where=str(path), remedy="evaluate again")
    return decoded


def _strings(table: pa.Table, name: str) -> Strings:
    column = table[name]
    if column.null_count:
        raise PredictionsError(f"column {name} has nulls", remedy="evaluate again")
    return np.asarray(column.to_pylist(), dtype=np.str_)
