"""Predictions of a model or a baseline on a snapshot's split, made by the trainer once and kept beside the run."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from overnight.files import read_json, sha256_file
from overnight.models import predictions
from overnight.models.predictions import Predictions, PredictionsError
from overnight.models.registry import ModelVersion
from overnight.models.trainer_process import TrainerFailed, run_trainer

Say = Callable[[str], None]
"""Told what begins, in a few words; may take long."""


@dataclass(frozen=True)
class SplitData:
    """The split that models are evaluated on."""

    snapshot: Path
    """The snapshot's folder."""
    snapshot_sha256: str
    shards: Path
    """The folder of all shard sets."""
    split: str


def open_split(snapshots: Path, shards: Path, split: str, named: dict[str, str]) -> SplitData:
    """The split of the snapshot that a run names as `{name, sha256}`.

    Raises PredictionsError when the snapshot is gone or is not the one that the run was trained on.
    """
    folder = snapshots / named["name"]
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        raise PredictionsError(
            "the snapshot that this run was trained on is gone",
            where=str(folder),
            remedy="restore it from a backup, or train on a snapshot that exists",
        )
    digest = sha256_file(manifest)
    if digest != named["sha256"]:
        raise PredictionsError(
            "the snapshot changed since the run was trained on it (its SHA-256 differs)",
            where=str(manifest),
            remedy="restore it from a backup",
        )
    return SplitData(folder, digest, shards, split)


def of_version(version: ModelVersion, data: SplitData, cache: Path, say: Say) -> Predictions:
    """Predictions of a registered model; from `cache` when the same weights were evaluated before."""
    weights = version.weights_sha256
    path = cache / f"{weights[:12]}-{data.snapshot_sha256[:12]}-{data.split}.parquet"
    found = _cached(path, data)
    if found is None or found.weights_sha256 != weights:
        say(f"evaluating {version.reference} on the {data.split} split")
        found = _made(path, data, "evaluate", ["--model", str(version.folder)])
    if found.weights_sha256 != weights:
        raise PredictionsError(
            f"these predictions come from weights {found.weights_sha256[:12]}, not {weights[:12]}",
            where=str(path),
            remedy="the model's files changed during the evaluation; start again",
        )
    return found


def of_pixel_linear(data: SplitData, cache: Path, say: Say) -> Predictions:
    """Predictions of the linear model on pixels, trained by the trainer on the snapshot's training split."""
    path = cache / f"pixel-linear-{data.snapshot_sha256[:12]}-{data.split}.parquet"
    found = _cached(path, data)
    if found is None:
        say("fitting the linear model on pixels, the baseline")
        found = _made(path, data, "baseline", [])
    return found


def majority_class(snapshot: Path) -> str:
    """The class with the most training images; the first by name where several have."""
    manifest = read_json(snapshot / "manifest.json", "overnight.snapshot/1")
    training = {name: counts["train"] for name, counts in manifest["counts"]["classes"].items()}
    return str(min(training, key=lambda name: (-training[name], name)))


def _cached(path: Path, data: SplitData) -> Predictions | None:
    """Predictions kept at `path`; None when there are none of this data or they cannot be read."""
    try:
        found = predictions.read(path)
    except (PredictionsError, json.JSONDecodeError):
        return None
    return found if (found.snapshot_sha256, found.split) == (data.snapshot_sha256, data.split) else None


def _made(path: Path, data: SplitData, module: str, arguments: list[str]) -> Predictions:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.stem}.partial.parquet")
    common = ["--snapshot", str(data.snapshot), "--shards", str(data.shards), "--split", data.split]
    try:
        run_trainer(module, [*arguments, *common, "--output", str(partial)])
        if not partial.is_file():
            raise TrainerFailed(f"trainer.{module} ended well but wrote no predictions")
        found = predictions.read(partial)
        if (found.snapshot_sha256, found.split) != (data.snapshot_sha256, data.split):
            raise PredictionsError("the trainer evaluated other data than it was given", where=str(data.snapshot))
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return found
