"""Read what a report is made of. Only run.json must be there; every other part may be missing."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.config import Environment
from overnight.files import read_json
from overnight.models.resolve import run_folder

Json = dict[str, Any]


@dataclass(frozen=True)
class Sources:
    """The files' contents, as docs/formats.md describes them; None for a file that is not there."""

    run: Json
    metrics: Json | None
    profile: Json | None
    result: Json | None
    model: Json | None
    gate: Json | None
    snapshot: Json | None
    previous: Json | None
    """Manifest of the snapshot before."""
    validation: Json | None
    """The snapshot's report.json."""


def read_sources(environment: Environment, run_id: str) -> Sources:
    """Read a run and its snapshot.

    Raises RegistryError when there is no such run, OvernightError when a file is not what its format says.
    """
    folder = run_folder(environment.runs_path, run_id)
    run = read_json(folder / "run.json", "overnight.run/1")
    snapshots = environment.snapshots_path
    snapshot_folder = snapshots / run["snapshot"]["name"]
    snapshot = _optional(snapshot_folder / "manifest.json", "overnight.snapshot/1")
    before = (snapshot or {}).get("previous")
    return Sources(
        run=run,
        metrics=_optional(folder / "metrics.json", "overnight.metrics/1"),
        profile=_optional(folder / "profile.json", "overnight.profile/1"),
        result=_optional(folder / "result.json", "overnight.result/1"),
        model=_optional(folder / "model" / "model.json", "overnight.model/1"),
        gate=_optional(folder / "evaluation" / "gate.json", "overnight.gate/1"),
        snapshot=snapshot,
        previous=_optional(snapshots / before["name"] / "manifest.json", "overnight.snapshot/1") if before else None,
        validation=_optional(snapshot_folder / "report.json", "overnight.validation/1"),
    )


def _optional(path: Path, format_name: str) -> Json | None:
    return read_json(path, format_name) if path.is_file() else None
