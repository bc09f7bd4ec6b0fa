"""Reading a snapshot: labels as arrays and the shards they point into (docs/formats.md, "Snapshot", "Shard set")."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trainer.data.native import Places
from trainer.errors import SnapshotError

SPLITS = ("train", "validation", "test")

_COLUMNS = ("key", "class_id", "group_id", "shard", "row", "offset", "size", "width", "height")


@dataclass(frozen=True)
class Rows:
    """The labelled images of one split, in key order, as columns: no Python object a sample.

    `shard` is an index into `paths`, the absolute paths of the tar files; `offset` and `size` are bytes.
    """

    keys: pa.LargeStringArray
    class_ids: NDArray[np.int64]
    group_ids: pa.LargeStringArray
    paths: tuple[str, ...]
    shard: NDArray[np.int32]
    row: NDArray[np.int32]
    offset: NDArray[np.int64]
    size: NDArray[np.int64]
    width: NDArray[np.int32]
    height: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.class_ids)

    def places(self, indices: NDArray[np.int64]) -> Places:
        """Where the bytes of the rows at `indices` stand, in a reader over `paths`."""
        return Places(self.shard[indices], self.offset[indices], self.size[indices])

    def take(self, indices: NDArray[np.int64]) -> "Rows":
        """The rows at `indices`, in that order."""
        chosen = pa.array(indices)
        return Rows(
            self.keys.take(chosen),
            self.class_ids[indices],
            self.group_ids.take(chosen),
            self.paths,
            self.shard[indices],
            self.row[indices],
            self.offset[indices],
            self.size[indices],
            self.width[indices],
            self.height[indices],
        )


@dataclass(frozen=True)
class Snapshot:
    """A snapshot whose files, and whose shards, are there with the recorded sizes.

    `sha256` is the digest of its manifest.json; `splits` counts the rows of each split.
    """

    folder: Path
    name: str
    sha256: str
    shard_set_name: str
    shard_set_sha256: str
    classes: tuple[str, ...]
    splits: Mapping[str, int]
    label_files: tuple[Path, ...]
    shard_paths: Mapping[int, str]

    def rows(self, split: str) -> Rows:
        """The rows of `split`, key order. Raises SnapshotError for an unknown split or a row that cannot be right."""
        if split not in SPLITS:
            raise SnapshotError(
                f"there is no split {split!r}", where=self.name, remedy=f"give one of {', '.join(SPLITS)}"
            )
        tables = [_read_labels(path, split) for path in self.label_files]
        table = pa.concat_tables(tables).combine_chunks()
        numbers = np.array(sorted(self.shard_paths), dtype=np.int64)
        shard = _column(table, "shard", np.int64)
        position = np.searchsorted(numbers, shard)
        known = np.isin(shard, numbers)
        class_ids = _column(table, "class_id", np.int64)
        self._check_rows(table, known, shard, class_ids)
        return Rows(
            keys=_strings(table, "key"),
            class_ids=class_ids,
            group_ids=_strings(table, "group_id"),
            paths=tuple(self.shard_paths[int(number)] for number in numbers),
            shard=position.astype(np.int32),
            row=_column(table, "row", np.int32),
            offset=_column(table, "offset", np.int64),
            size=_column(table, "size", np.int64),
            width=_column(table, "width", np.int32),
            height=_column(table, "height", np.int32),
        )

    def _check_rows(
        self, table: pa.Table, known: NDArray[np.bool_], shard: NDArray[np.int64], class_ids: NDArray[np.int64]
    ) -> None:
        def first(bad: NDArray[np.bool_]) -> str:
            return f"{self.folder}, key {table.column('key')[int(np.argmax(bad))].as_py()}"

        if not known.all():
            number = int(shard[np.argmin(known)])
            raise SnapshotError(f"shard {number} is not in shard set {self.shard_set_name}", where=first(~known))
        outside = (class_ids < 0) | (class_ids >= len(self.classes))
        if outside.any():
            number = int(class_ids[np.argmax(outside)])
            raise SnapshotError(f"class_id {number} is not in classes.json", where=first(outside))


def open_snapshot(folder: Path, shards: Path) -> Snapshot:
    """Open the snapshot in `folder` over the shard sets in `shards`.

    Checks the formats, the shard set's digest, and that every listed file and tar exists with its recorded size.
    Raises SnapshotError, one sentence naming the file.
    """
    manifest, sha256 = _read_manifest(folder / "manifest.json", "overnight.snapshot/1")
    shard_set = manifest["shard_set"]
    set_path = shards / shard_set["name"] / "manifest.json"
    set_manifest, set_sha256 = _read_manifest(set_path, "overnight.shards/1")
    if set_sha256 != shard_set["sha256"]:
        raise SnapshotError(
            f"this is not the shard set that snapshot {manifest['name']} was made from",
            where=str(set_path),
            remedy="give the folder of shards that belongs to it",
        )
    for entry in manifest["files"]:
        _check_file(folder / entry["path"], entry["size"])
    for entry in set_manifest["shards"]:
        _check_file(shards / entry["path"], entry["size"])
    labels = sorted(entry["path"] for entry in manifest["files"] if entry["path"].endswith(".parquet"))
    return Snapshot(
        folder=folder,
        name=manifest["name"],
        sha256=sha256,
        shard_set_name=shard_set["name"],
        shard_set_sha256=set_sha256,
        classes=_read_classes(folder / "classes.json"),
        splits=_count_splits(manifest["counts"]["classes"]),
        label_files=tuple(folder / path for path in labels),
        shard_paths={entry["shard"]: str((shards / entry["path"]).absolute()) for entry in set_manifest["shards"]},
    )


def _read_manifest(path: Path, format_name: str) -> tuple[dict[str, Any], str]:
    """The JSON object in `path` and the hex SHA-256 of its bytes."""
    try:
        content = path.read_bytes()
        value = json.loads(content)
    except (FileNotFoundError, NotADirectoryError):
        raise SnapshotError("this file is missing", where=str(path), remedy="check the folder's path") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SnapshotError(f"this is not JSON ({error})", where=str(path)) from None
    found = value.get("format") if isinstance(value, dict) else None
    if found != format_name:
        raise SnapshotError(f"format is {found!r} where {format_name!r} was expected", where=str(path))
    return dict(value), hashlib.sha256(content).hexdigest()


def _check_file(path: Path, size: int) -> None:
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise SnapshotError(
            "this file is listed but missing", where=str(path), remedy="restore it or use another snapshot"
        ) from None
    if found != size:
        raise SnapshotError(
            f"this file has {found} bytes where the manifest says {size}",
            where=str(path),
            remedy="restore it or use another snapshot",
        )


def _read_classes(path: Path) -> tuple[str, ...]:
    value, _ = _read_manifest(path, "overnight.classes/1")
    return tuple(value["classes"])


def _count_splits(classes: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {split: sum(counts.get(split, 0) for counts in classes.values()) for split in SPLITS}


def _read_labels(path: Path, split: str) -> pa.Table:
    """The rows of `split` in one labels file; only they are kept in memory."""
    try:
        table = pq.read_table(path, columns=[*_COLUMNS, "split"], filters=pc.field("split") == split)
    except (pa.ArrowInvalid, pa.ArrowKeyError, OSError) as error:
        reason = " ".join(str(error).split())
        raise SnapshotError(f"this label file cannot be read ({reason})", where=str(path)) from None
    return table.select(list(_COLUMNS))


def _column(table: pa.Table, name: str, kind: type[np.generic]) -> NDArray[Any]:
    return np.asarray(table.column(name).to_numpy(), dtype=kind)


def _strings(table: pa.Table, name: str) -> pa.LargeStringArray:
    """One array whose offsets hold more than 2 GiB of text."""
    chunks = table.column(name).cast(pa.large_string())
    return pa.concat_arrays(chunks.chunks) if chunks.num_chunks else pa.array([], type=pa.large_string())
