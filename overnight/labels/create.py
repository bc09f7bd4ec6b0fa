"""Make a snapshot: all of it or nothing."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from overnight.config import Environment
from overnight.files import canonical_json, locked, publishing, sha256_bytes, write_atomically
from overnight.labels.errors import LabelsError, SnapshotRejected
from overnight.labels.export import ROWS_PER_FILE, Export, export_labels
from overnight.labels.report import counts, time_text
from overnight.labels.snapshots import CLASSES_FORMAT, SNAPSHOT_FORMAT, Snapshot, read_snapshot
from overnight.labels.staging import working_connection
from overnight.labels.validation import (
    Inputs,
    Progress,
    Validation,
    describe_previous,
    describe_source,
    validate,
)
from overnight.shards.shardset import ShardSet

_SCRATCH = ".scratch-"


@dataclass(frozen=True, kw_only=True)
class Created:
    """The snapshot that now stands for the labels; `reused` when it was there already with the same content."""

    snapshot: Snapshot
    validation: Validation
    reused: bool


def validate_labels(inputs: Inputs, environment: Environment, progress: Progress) -> Validation:
    """Run every check and write nothing in the environment's root. Raises LabelsError."""
    with tempfile.TemporaryDirectory(prefix="overnight-") as scratch, working_connection(Path(scratch)) as connection:
        inputs.source.attach(connection)
        return validate(connection, inputs, environment, progress)


def create_snapshot(inputs: Inputs, environment: Environment, progress: Progress) -> Created:
    """Validate the labels and make a snapshot of them.

    The order makes a crash harmless: label files in a scratch folder, then the dated table (used again by the next
    try), then the snapshot's folder by one rename. Call it with the snapshots folder held (see `holding_snapshots`).

    Raises SnapshotRejected, with the report kept under snapshots/rejected/; LabelsError; OSError when the disk is full.
    """
    snapshots = environment.snapshots_path
    if inputs.previous and inputs.now < inputs.previous.created:
        raise LabelsError(
            f"{time_text(inputs.now)} lies before the newest snapshot {inputs.previous.name}"
            f" ({time_text(inputs.previous.created)})",
            where="--now",
            remedy="give a later time, or set the clock right",
        )
    with _scratch(snapshots) as scratch, working_connection(scratch) as connection:
        inputs.source.attach_for_freezing(connection)
        validation = validate(connection, inputs, environment, progress)
        if validation.failed:
            raise _reject(validation, environment, inputs)
        progress("Writing label files")
        export = export_labels(
            connection, inputs.shard_set.index_path, environment.split, scratch / "files", ROWS_PER_FILE
        )
        if inputs.previous and _is_same(inputs.previous, inputs.shard_set, export):
            return Created(snapshot=inputs.previous, validation=validation, reused=True)
        progress("Making the dated table")
        table = inputs.source.freeze(connection, f"{inputs.now:%Y%m%d}")
        folder = _free_name(snapshots, f"{inputs.now:%Y%m%d}-{export.content_sha256[:12]}")
        _publish(
            folder,
            scratch / "files",
            export,
            _manifest(folder.name, inputs, environment, validation, export, table),
            validation,
        )
    return Created(snapshot=read_snapshot(folder), validation=validation, reused=False)


@contextlib.contextmanager
def holding_snapshots(snapshots: Path) -> Iterator[None]:
    """Keep other snapshot commands out, and clear away what a killed one left. Raises FolderInUse."""
    with locked(snapshots, "snapshot command"):
        for leftover in snapshots.glob(".*.tmp"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


@contextlib.contextmanager
def _scratch(snapshots: Path) -> Iterator[Path]:
    """A temporary folder on the snapshots' own file system, with a folder `files` in it."""
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, suffix=".tmp", dir=snapshots) as name:
        (Path(name) / "files").mkdir()
        yield Path(name)


def _reject(validation: Validation, environment: Environment, inputs: Inputs) -> SnapshotRejected:
    """Keep the report; say which checks failed. Its 12 hex digits are of the report's own digest."""
    data = canonical_json(validation.report)
    name = f"{inputs.now:%Y%m%d}-{sha256_bytes(data)[:12]}"
    path = environment.snapshots_path / "rejected" / name / "report.json"
    write_atomically(path, data)
    return rejection(validation, inputs, path)


def rejection(validation: Validation, inputs: Inputs, report: Path | None) -> SnapshotRejected:
    """The error for labels that failed their checks."""
    failed = validation.failed
    return SnapshotRejected(
        f"{len(failed)} of {len(validation.checks)} checks failed ({', '.join(failed)})",
        where=inputs.source.location,
        remedy=f"correct the labels as the messages say; the report is {report}" if report else "correct the labels",
        content=validation.report,
        report=report,
    )


def _is_same(snapshot: Snapshot, shard_set: ShardSet, export: Export) -> bool:
    """Whether a snapshot has this very content, of this very shard set."""
    manifest = snapshot.manifest
    return bool(
        manifest["content_sha256"] == export.content_sha256 and manifest["shard_set"]["sha256"] == shard_set.sha256
    )


def _free_name(snapshots: Path, name: str) -> Path:
    """The folder `name`; with -2, -3, … where labels went back, on the same day, to what they were."""
    folder, number = snapshots / name, 2
    while folder.exists():
        folder, number = snapshots / f"{name}-{number}", number + 1
    return folder


def _manifest(
    name: str, inputs: Inputs, environment: Environment, validation: Validation, export: Export, table: str
) -> dict[str, Any]:
    return {
        "format": SNAPSHOT_FORMAT,
        "name": name,
        "created": time_text(inputs.now),
        "source": {**describe_source(inputs.source, environment, validation.facts), "snapshot_table": table},
        "shard_set": {"name": inputs.shard_set.name, "sha256": inputs.shard_set.sha256},
        "split": environment.split.model_dump(),
        "counts": counts(validation.facts),
        "previous": describe_previous(inputs.previous),
        "content_sha256": export.content_sha256,
        "files": [asdict(file) for file in export.files],
    }


def _publish(folder: Path, files: Path, export: Export, manifest: dict[str, Any], validation: Validation) -> None:
    """Put the snapshot together in a temporary folder, the manifest last, and rename it into place."""
    with publishing(folder) as temporary:
        for file in export.files:
            (files / file.path).rename(temporary / file.path)
        classes = {"format": CLASSES_FORMAT, "classes": list(export.classes)}
        write_atomically(temporary / "classes.json", canonical_json(classes))
        write_atomically(temporary / "report.json", canonical_json(validation.report))
        write_atomically(temporary / "manifest.json", canonical_json(manifest))
