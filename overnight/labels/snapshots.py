"""Accepted snapshots on disk: read one, list them, find the newest."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from overnight.files import read_json, sha256_file
from overnight.labels.errors import LabelsError

SNAPSHOT_FORMAT = "overnight.snapshot/1"
CLASSES_FORMAT = "overnight.classes/1"

_NAME = re.compile(r"\d{8}-[0-9a-f]{12}(-\d+)?")


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """An accepted snapshot: where it is and what its manifest says."""

    name: str
    folder: Path
    sha256: str
    """The digest of its manifest.json."""
    created: datetime
    manifest: dict[str, Any]

    @property
    def shard_set(self) -> str:
        """The shard set's name."""
        return str(self.manifest["shard_set"]["name"])

    @property
    def rows(self) -> int:
        """Rows of all label files."""
        return int(self.manifest["counts"]["rows"])

    @property
    def label_files(self) -> list[Path]:
        """The label files in key order."""
        return [self.folder / str(entry["path"]) for entry in self.manifest["files"]]

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of their ids. Raises LabelsError when classes.json is missing."""
        return tuple(read_json(self.folder / "classes.json", CLASSES_FORMAT)["classes"])

    @property
    def class_rows(self) -> dict[str, int]:
        """Rows of each class, all splits together."""
        return {name: sum(splits.values()) for name, splits in self.manifest["counts"]["classes"].items()}

    def check_files(self) -> None:
        """Raise LabelsError unless every label file is there with its size."""
        for path, entry in zip(self.label_files, self.manifest["files"], strict=True):
            if not path.is_file() or path.stat().st_size != entry["size"]:
                raise LabelsError(
                    "this file of a snapshot is missing or was changed", where=str(path), remedy="restore it"
                )


def read_snapshot(folder: Path) -> Snapshot:
    """The snapshot in `folder`. Raises OvernightError when it has no manifest or one of another format."""
    path = folder / "manifest.json"
    manifest = read_json(path, SNAPSHOT_FORMAT)
    return Snapshot(
        name=folder.name,
        folder=folder,
        sha256=sha256_file(path),
        created=datetime.fromisoformat(manifest["created"]),
        manifest=manifest,
    )


def list_snapshots(snapshots: Path) -> list[Snapshot]:
    """The accepted snapshots in the folder `snapshots`, oldest first.

    Of two created in the same second, the one that names the other as its previous is the later one.
    """
    folders = (path.parent for path in snapshots.glob("*/manifest.json") if _NAME.fullmatch(path.parent.name))
    found = {snapshot.name: snapshot for snapshot in map(read_snapshot, folders)}
    return sorted(found.values(), key=lambda snapshot: (snapshot.created, _depth(found, snapshot), snapshot.name))


def newest_snapshot(snapshots: Path) -> Snapshot | None:
    """The newest accepted snapshot, or None when there is none yet."""
    found = list_snapshots(snapshots)
    return found[-1] if found else None


def find_snapshot(snapshots: Path, name: str) -> Snapshot:
    """The snapshot called `name`, or the newest for `latest`. Raises LabelsError when there is none."""
    newest = newest_snapshot(snapshots)
    if newest is None:
        raise LabelsError("there is no snapshot", where=str(snapshots), remedy="run `overnight snapshot create` first")
    if name == "latest":
        return newest
    if not _NAME.fullmatch(name) or not (snapshots / name / "manifest.json").is_file():
        raise LabelsError(
            f"there is no snapshot {name!r}",
            where=str(snapshots),
            remedy="`overnight snapshot list` names those there are",
        )
    return read_snapshot(snapshots / name)


def _depth(found: dict[str, Snapshot], snapshot: Snapshot) -> int:
    """How many snapshots of the same second come before this one along the chain of `previous`."""
    before = found.get((snapshot.manifest["previous"] or {"name": ""})["name"])
    return 1 + _depth(found, before) if before and before.created == snapshot.created else 0
