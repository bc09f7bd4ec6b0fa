"""Folders as docs/formats.md draws them, small but complete: a root with snapshots, runs and predictions."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from overnight.files import canonical_json, sha256_file

CLASSES = ("animals", "flags", "food", "objects")
SUPPORT = (120, 40, 80, 60)
ZEROS = "0" * 64


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(canonical_json(value))
    return path


def truth(support: tuple[int, ...] = SUPPORT, classes: tuple[str, ...] = CLASSES) -> list[str]:
    """The labels of the test split, class after class."""
    return [name for name, count in zip(classes, support, strict=True) for _ in range(count)]


def answers(labels: list[str], accuracy: float, seed: int, classes: tuple[str, ...] = CLASSES) -> list[str]:
    """Predictions right with probability `accuracy`, else any other class."""
    rng = np.random.default_rng(seed)
    right = rng.random(len(labels)) < accuracy
    wrong = [str(rng.choice([name for name in classes if name != label])) for label in labels]
    return [label if hit else miss for label, hit, miss in zip(labels, right, wrong, strict=True)]


def write_predictions(
    path: Path,
    predicted: list[str],
    *,
    labels: list[str] | None = None,
    classes: tuple[str, ...] = CLASSES,
    weights_sha256: str = ZEROS,
    snapshot_sha256: str = ZEROS,
    split: str = "test",
    group_size: int = 3,
    keys: list[str] | None = None,
) -> Path:
    """A predictions file; `group_size` images in a row form one group."""
    labels = truth() if labels is None else labels
    count = len(labels)
    table = pa.table(
        {
            "key": keys or [f"image-{i:05d}" for i in range(count)],
            "group_id": [f"group-{i // group_size:05d}" for i in range(count)],
            "label": labels,
            "predicted": predicted,
            "confidence": pa.array([0.8] * count, pa.float32()),
            "logits": pa.array(
                [[5.0 if name == answer else 0.0 for name in classes] for answer in predicted],
                pa.list_(pa.float32()),
            ),
        }
    )
    metadata = {
        "classes": json.dumps(classes),
        "weights_sha256": weights_sha256,
        "snapshot_sha256": snapshot_sha256,
        "split": split,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


@dataclass(frozen=True)
class Root:
    """The root of an environment, filled one folder at a time."""

    path: Path

    @property
    def models(self) -> Path:
        return self.path / "models"

    @property
    def config(self) -> Path:
        """An environment file for this root."""
        self.path.mkdir(exist_ok=True)
        file = self.path / "test.yaml"
        file.write_text(f"environment: test\nroot: {self.path}\n", encoding="utf-8")
        return file

    def shard_set(self) -> dict[str, str]:
        manifest = self.path / "shards" / "0001" / "manifest.json"
        if not manifest.exists():
            write_json(manifest, {"format": "overnight.shards/1", "name": "0001", "previous": None})
        return {"name": "0001", "sha256": sha256_file(manifest)}

    def snapshot(self, day: str = "20260302", counts: tuple[int, ...] = SUPPORT, previous: str | None = None) -> Path:
        """A snapshot folder with all its JSON files, without label rows; `counts` images a class in the test split."""
        content = hashlib.sha256(f"{day}{counts}".encode()).hexdigest()
        folder = self.path / "snapshots" / f"{day}-{content[:12]}"
        before = None
        if previous is not None:
            before = {
                "name": previous,
                "sha256": sha256_file(self.path / "snapshots" / previous / "manifest.json"),
            }
        classes = {
            name: {"train": 4 * count, "validation": count // 2, "test": count}
            for name, count in zip(CLASSES, counts, strict=True)
        }
        manifest = {
            "format": "overnight.snapshot/1",
            "name": folder.name,
            "created": f"{day[:4]}-{day[4:6]}-{day[6:]}T01:00:00Z",
            "source": {
                "kind": "duckdb",
                "database": "labels.duckdb",
                "table": "labels",
                "snapshot_table": f"labels_{day}",
                "rows": sum(sum(split.values()) for split in classes.values()),
            },
            "shard_set": self.shard_set(),
            "split": {"salt": "overnight", "train": 0.7, "validation": 0.1, "test": 0.2},
            "counts": {"rows": sum(sum(split.values()) for split in classes.values()), "classes": classes},
            "previous": before,
            "content_sha256": content,
            "files": [],
        }
        write_json(folder / "classes.json", {"format": "overnight.classes/1", "classes": list(CLASSES)})
        write_json(folder / "report.json", validation_report(manifest))
        write_json(folder / "manifest.json", manifest)
        return folder

    def run(
        self,
        run_id: str,
        snapshot: Path,
        *,
        model: str = "demo",
        status: str = "succeeded",
        weights: bytes | None = None,
        accuracy: float = 0.85,
    ) -> Path:
        """A run folder as the trainer and `overnight run` leave it, without evaluation."""
        folder = self.path / "runs" / run_id
        weights_path = folder / "model" / "model.safetensors"
        weights_path.parent.mkdir(parents=True)
        weights_path.write_bytes(weights if weights is not None else f"weights of {run_id}".encode())
        digest = sha256_file(weights_path)
        named_snapshot = {"name": snapshot.name, "sha256": sha256_file(snapshot / "manifest.json")}
        write_json(folder / "model" / "model.json", model_json(digest))
        write_json(folder / "spec.json", {"displayName": f"{model}-weekly", "jobSpec": {"workerPoolSpecs": []}})
        write_json(folder / "config.json", HYPERPARAMETERS)
        write_json(folder / "metrics.json", metrics(accuracy))
        write_json(folder / "profile.json", PROFILE)
        write_json(folder / "result.json", result(named_snapshot, self.shard_set(), digest))
        write_json(
            folder / "run.json",
            run_record(run_id, status, model, named_snapshot, self.shard_set(), digest, folder),
        )
        return folder

    def evaluated_run(self, run_id: str, snapshot: Path, *, accuracy: float, **options: Any) -> Path:
        """A run whose model and baseline were evaluated already, so that promoting it starts no trainer."""
        folder = self.run(run_id, snapshot, accuracy=accuracy, **options)
        digest = sha256_file(snapshot / "manifest.json")
        labels = truth()
        write_predictions(
            folder / "evaluation" / f"pixel-linear-{digest[:12]}-test.parquet",
            answers(labels, 0.5, seed=2),
            snapshot_sha256=digest,
        )
        self.evaluate(folder, snapshot, accuracy=accuracy, cache=folder)
        return folder

    def evaluate(self, run: Path, snapshot: Path, *, accuracy: float, cache: Path) -> Path:
        """Predictions of a run's model on a snapshot, kept beside the run `cache`."""
        weights = sha256_file(run / "model" / "model.safetensors")
        digest = sha256_file(snapshot / "manifest.json")
        return write_predictions(
            cache / "evaluation" / f"{weights[:12]}-{digest[:12]}-test.parquet",
            answers(truth(), accuracy, seed=int(weights[:6], 16)),
            weights_sha256=weights,
            snapshot_sha256=digest,
        )


HYPERPARAMETERS = {
    "batch_size": 64,
    "epochs": 6,
    "learning_rate": 0.1,
    "model": "trainer.models:resnet18",
    "optimizer": "sgd",
    "seed": 7,
    "weight_decay": 0.0005,
}

MACHINE = {
    "cpu": "Example CPU 2.0 GHz",
    "cores": 2,
    "memory_bytes": 8 * 2**30,
    "accelerator": None,
    "hostname": "laptop",
}

PROFILE = {
    "format": "overnight.profile/1",
    "steps": 180,
    "samples": 11520,
    "samples_per_second": 96.0,
    "wall_seconds": 120.0,
    "phases": {
        "data_wait": {"seconds": 6.0, "share": 0.05},
        "copy": {"seconds": 1.2, "share": 0.01},
        "forward_backward": {"seconds": 84.0, "share": 0.7},
        "all_reduce": {"seconds": 9.6, "share": 0.08},
        "optimizer": {"seconds": 6.0, "share": 0.05},
        "checkpoint": {"seconds": 1.2, "share": 0.01},
        "evaluation": {"seconds": 9.6, "share": 0.08},
        "other": {"seconds": 2.4, "share": 0.02},
    },
    "bad_samples": [{"key": "animals/cat-0012", "shard": 3, "offset": 71680, "reason": "truncated <JPEG>"}],
    "bad_samples_total": 1,
    "world_size": 2,
    "threads": 1,
}


def model_json(weights_sha256: str) -> dict[str, Any]:
    return {
        "format": "overnight.model/1",
        "architecture": {"function": "trainer.models:resnet18", "arguments": {"classes": len(CLASSES)}},
        "classes": list(CLASSES),
        "preprocessing": {
            "size": 64,
            "resize_shorter_side": 72,
            "mean": [0.5, 0.5, 0.5],
            "std": [0.25, 0.25, 0.25],
            "interpolation": "triangle-antialias",
            "decode": "exact",
        },
        "weights": {"path": "model.safetensors", "sha256": weights_sha256},
        "ema": True,
    }


def metrics(accuracy: float) -> dict[str, Any]:
    """Six epochs that rise to `accuracy`, and the final validation figures."""
    epochs = [
        {
            "epoch": epoch,
            "step": 30 * epoch,
            "train_loss": 1.4 * 0.72**epoch + 0.1,
            "learning_rate": 0.1 * (1 - epoch / 7),
            "size": 48 if epoch < 4 else 64,
            "validation": {
                "loss": 1.3 * 0.75**epoch + 0.2,
                "accuracy": accuracy * (1 - 0.5**epoch),
                "balanced_accuracy": 0.95 * accuracy * (1 - 0.5**epoch),
            },
            "seconds": 20.0,
        }
        for epoch in range(1, 7)
    ]
    labels = truth()
    predicted = answers(labels, accuracy, seed=11)
    confusion = [
        [sum(1 for a, b in zip(labels, predicted, strict=True) if (a, b) == (row, column)) for column in CLASSES]
        for row in CLASSES
    ]
    per_class = [
        {
            "class": name,
            "support": sum(row),
            "recall": row[i] / sum(row),
            "precision": row[i] / max(1, sum(other[i] for other in confusion)),
        }
        for i, (name, row) in enumerate(zip(CLASSES, confusion, strict=True))
    ]
    calibration = [
        {
            "lower": i / 10,
            "upper": (i + 1) / 10,
            "count": 4 * i * i,
            "confidence": (i + 0.5) / 10,
            "accuracy": max(0.0, (i + 0.5) / 10 - 0.04),
        }
        for i in range(10)
    ]
    return {
        "format": "overnight.metrics/1",
        "epochs": epochs,
        "final": {
            "split": "validation",
            "samples": len(labels),
            "loss": 0.44,
            "accuracy": sum(row[i] for i, row in enumerate(confusion)) / len(labels),
            "balanced_accuracy": sum(entry["recall"] for entry in per_class) / len(per_class),
            "expected_calibration_error": 0.041,
            "calibration": calibration,
            "per_class": per_class,
            "confusion": confusion,
        },
    }


def result(snapshot: dict[str, str], shard_set: dict[str, str], weights_sha256: str) -> dict[str, Any]:
    return {
        "format": "overnight.result/1",
        "status": "succeeded",
        "snapshot": snapshot,
        "shard_set": shard_set,
        "seed": 7,
        "hyperparameters": HYPERPARAMETERS,
        "weights_sha256": weights_sha256,
        "steps": 180,
        "samples": 11520,
        "restarts": 0,
        "started": "2026-03-02T02:00:00Z",
        "ended": "2026-03-02T02:02:00Z",
        "machine": MACHINE,
        "versions": {"python": "3.11.7", "torch": "2.13.0", "trainer": "0.1.0"},
    }


def run_record(
    run_id: str,
    status: str,
    model: str,
    snapshot: dict[str, str],
    shard_set: dict[str, str],
    weights_sha256: str,
    folder: Path,
) -> dict[str, Any]:
    recorded = ("spec.json", "config.json", "metrics.json", "profile.json", "result.json", "model/model.json")
    return {
        "format": "overnight.run/1",
        "run_id": run_id,
        "status": status,
        "started": "2026-03-02T02:00:00Z",
        "ended": "2026-03-02T02:02:00Z",
        "job": {
            "display_name": f"{model}-weekly",
            "spec_path": "jobs/local.yaml",
            "spec_sha256": sha256_file(folder / "spec.json"),
            "names": [],
        },
        "model": model,
        "pipeline_run": None,
        "images": [],
        "environment": {
            "python": "3.11.7",
            "platform": "Linux-6.1-x86_64",
            "packages": {"torch": "2.13.0", "numpy": "2.4.6"},
            "sha256": "e" * 64,
        },
        "git": {"commit": "c" * 40, "dirty": False, "repository": "overnight"},
        "snapshot": {**snapshot, "uri": f"snapshots/{snapshot['name']}"},
        "shard_set": {**shard_set, "uri": "shards/0001"},
        "label_table": {
            "kind": "duckdb",
            "database": "labels.duckdb",
            "table": "labels",
            "snapshot_table": f"labels_{snapshot['name'][:8]}",
        },
        "hyperparameters": HYPERPARAMETERS,
        "seed": 7,
        "machine": MACHINE,
        "versions": {"python": "3.11.7", "torch": "2.13.0", "trainer": "0.1.0"},
        "metrics": {
            "accuracy": 0.85,
            "balanced_accuracy": 0.84,
            "loss": 0.44,
            "expected_calibration_error": 0.041,
        },
        "timings": {name: phase["seconds"] for name, phase in PROFILE["phases"].items()},
        "cost": {"currency": "USD", "amount": 0, "basis": "local"},
        "weights_sha256": weights_sha256,
        "files": [{"path": name, "sha256": sha256_file(folder / name)} for name in recorded],
    }


def validation_report(manifest: dict[str, Any]) -> dict[str, Any]:
    changes = [
        {"key": "animals/cat-0001", "from": "objects", "to": "animals"},
        {"key": "food/apple-0001", "from": "animals", "to": "food"},
    ]
    if manifest["previous"] is None:
        changes = []
    return {
        "format": "overnight.validation/1",
        "verdict": "accepted",
        "created": manifest["created"],
        "source": manifest["source"],
        "shard_set": manifest["shard_set"],
        "previous": manifest["previous"],
        "counts": manifest["counts"],
        "checks": [
            {
                "name": "row-count",
                "verdict": "pass",
                "message": "1,650 rows, between 100 and 1,000,000,000",
                "value": 1650,
                "threshold": 100,
                "examples": [],
            },
            {
                "name": "label-churn",
                "verdict": "warn",
                "message": "2 labels changed since the last snapshot (0.1 %)",
                "value": 0.0012,
                "threshold": 0.05,
                "examples": ["animals/cat-0001"],
            },
        ],
        "label_changes": changes,
        "label_changes_total": len(changes),
    }


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """An empty root to fill."""
    return Root(tmp_path / "root")


@pytest.fixture(name="write_predictions")
def write_predictions_fixture():
    """The writer of predictions files."""
    return write_predictions


@pytest.fixture(name="answers")
def answers_fixture():
    """The maker of answers of a given accuracy."""
    return answers


@pytest.fixture(name="truth")
def truth_fixture():
    """The maker of true labels."""
    return truth
