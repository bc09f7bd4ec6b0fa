"""Assemble `run.json`: everything that made a run's weights, in one file beside them."""

import re
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import canonical_json, read_json, sha256_file, write_atomically
from overnight.lineage.environment import python_environment
from overnight.lineage.git import git_state
from overnight.lineage.trainer_image import said_image

RUN_FORMAT = "overnight.run/1"
RUN_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")

RECORDED_FILES = (
    "spec.json",
    "config.json",
    "metrics.json",
    "profile.json",
    "result.json",
    "model/model.json",
    "model/model.safetensors",
)
"""Files of the run folder whose digests the record holds."""

METRICS = ("accuracy", "balanced_accuracy", "loss", "expected_calibration_error")


@dataclass(frozen=True)
class RunFacts:
    """What whoever started the job knows about it; the rest is read from the run folder."""

    run_id: str
    root: Path
    """The environment's root; places under it are recorded relative to it."""
    status: str
    """`succeeded`, `failed` or `cancelled`."""
    verdict: str
    """How it ended, one sentence."""
    started: datetime
    ended: datetime
    display_name: str
    model: str
    spec_path: Path
    job_names: tuple[str, ...]
    images: tuple[tuple[int, str], ...]
    """(pool, reference) of each image that the spec names."""
    snapshot: Path
    """The snapshot's folder."""


def write_record(folder: Path, facts: RunFacts) -> dict[str, Any]:
    """Assemble the record of the run in `folder` and write it there as `run.json`; returns it."""
    record = assemble(folder, facts)
    write_atomically(folder / "run.json", canonical_json(record))
    return record


def assemble(folder: Path, facts: RunFacts) -> dict[str, Any]:
    """The content of `run.json`. Fields that only a finished training knows are null for other runs.

    Raises OvernightError when the snapshot is gone, when a file of the trainer is not what its format says, or
    when the training read another snapshot, or ran in another image, than the job was given.
    """
    snapshot = read_json(facts.snapshot / "manifest.json", "overnight.snapshot/1")
    result = _optional(folder / "result.json", "overnight.result/1")
    metrics = _optional(folder / "metrics.json", "overnight.metrics/1")
    profile = _optional(folder / "profile.json", "overnight.profile/1")
    snapshot_sha256 = sha256_file(facts.snapshot / "manifest.json")
    if result and result["snapshot"]["sha256"] != snapshot_sha256:
        raise OvernightError(
            f"the training read snapshot {result['snapshot']['name']}, the job was given {snapshot['name']}",
            where=str(folder / "result.json"),
            remedy="name the snapshot in the spec's overnight block only, not in args",
        )
    images = [_image(pool, reference) for pool, reference in facts.images]
    trainer_image = said_image(result, images, folder / "result.json")
    git = git_state(Path.cwd())
    return {
        "format": RUN_FORMAT,
        "run_id": facts.run_id,
        "status": facts.status,
        "verdict": facts.verdict,
        "started": utc_text(facts.started),
        "ended": utc_text(facts.ended),
        "job": {
            "display_name": facts.display_name,
            "spec_path": str(facts.spec_path),
            "spec_sha256": sha256_file(folder / "spec.json"),
            "names": list(facts.job_names),
        },
        "model": facts.model,
        "pipeline_run": None,
        "images": images,
        "trainer_image": trainer_image,
        "environment": python_environment(),
        "git": asdict(git) if git else None,
        "snapshot": {
            "name": snapshot["name"],
            "uri": _uri(facts.snapshot, facts.root),
            "sha256": snapshot_sha256,
        },
        "shard_set": {**snapshot["shard_set"], "uri": f"shards/{snapshot['shard_set']['name']}"},
        "label_table": {name: snapshot["source"].get(name) for name in ("kind", "database", "table", "snapshot_table")},
        **{name: result.get(name) for name in ("hyperparameters", "seed", "machine", "versions", "weights_sha256")},
        "metrics": {name: metrics.get("final", {}).get(name) for name in METRICS},
        "timings": {name: phase["seconds"] for name, phase in sorted(profile.get("phases", {}).items())},
        "cost": {"currency": "USD", "amount": 0, "basis": "local"},
        "files": [
            {"path": path, "sha256": sha256_file(folder / path)} for path in RECORDED_FILES if (folder / path).is_file()
        ],
    }


def utc_text(moment: datetime) -> str:
    """`2026-11-30T02:00:00Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _optional(path: Path, format_name: str) -> dict[str, Any]:
    return read_json(path, format_name) if path.is_file() else {}


def _image(pool: int, reference: str) -> dict[str, Any]:
    _, _, digest = reference.partition("@")
    return {"pool": pool, "reference": reference, "digest": digest or None}


def _uri(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
