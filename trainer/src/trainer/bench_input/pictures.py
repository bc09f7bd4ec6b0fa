"""A random sample of the pictures in someone's shards: a folder of tars, one tar, or a snapshot's training split."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.snapshot import Rows, open_snapshot
from trainer.errors import SnapshotError

MOST_SHARDS = 16
"""Tars that are looked into: a set of terabytes has too many to list them all."""
_PICTURE = r"(?i)\.jpe?g$"


@dataclass(frozen=True)
class Drawn:
    """Pictures drawn by a seed. `rows` places them for the loader, `files` are their bytes; `shards` is how many tars
    there are in all."""

    rows: Rows
    files: tuple[bytes, ...]
    shards: int

    def __len__(self) -> int:
        return len(self.files)


def draw(path: Path, shards: Path | None, seed: int, most: int, most_bytes: int) -> Drawn:
    """At most `most` pictures of together about `most_bytes`, from `path`. A function of the files and the seed.

    `shards` is the folder of shard sets, for a snapshot. Raises SnapshotError where there is nothing to measure.
    """
    chance = np.random.default_rng(seed)
    if _is_snapshot(path):
        rows, count = _snapshot_rows(path, shards)
    else:
        paths = _tars(path)
        chosen = sorted(paths[i] for i in chance.permutation(len(paths))[:MOST_SHARDS])
        rows, count = _tar_rows(chosen), len(paths)
    if len(rows) == 0:
        raise SnapshotError(
            "there is no JPEG in these shards",
            where=str(path),
            remedy="their members' names must end with .jpg or .jpeg",
        )
    some = np.sort(chance.permutation(len(rows))[:most])
    fitting = int(np.searchsorted(np.cumsum(rows.size[some]), most_bytes)) + 1
    rows = rows.take(some[:fitting])
    return Drawn(_with_dimensions(rows), tuple(_read(rows)), count)


def _is_snapshot(path: Path) -> bool:
    manifest = path / "manifest.json"
    try:
        return bool(json.loads(manifest.read_bytes())["format"] == "overnight.snapshot/1")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _snapshot_rows(path: Path, shards: Path | None) -> tuple[Rows, int]:
    if shards is None:
        raise SnapshotError("this is a snapshot", where=str(path), remedy="give the folder of its shards with --shards")
    snapshot = open_snapshot(path, shards)
    return snapshot.rows("train"), len(snapshot.shard_paths)


def _tars(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SnapshotError("this does not exist", where=str(path), remedy="give a folder of tars, a tar or a snapshot")
    found = sorted(path.rglob("*.tar"))
    if not found:
        raise SnapshotError("there is no *.tar here", where=str(path), remedy="give the folder that holds the shards")
    return found


def _tar_rows(paths: Sequence[Path]) -> Rows:
    names, shard, offset, size = [], [], [], []
    for number, path in enumerate(paths):
        members = native.scan_tar(path)
        pictures = np.flatnonzero(pc.match_substring_regex(members.names, _PICTURE).to_numpy(zero_copy_only=False))
        names.append(members.names.take(pa.array(pictures)))
        shard.append(np.full(len(pictures), number, np.int32))
        offset.append(members.offset[pictures])
        size.append(members.size[pictures])
    count = sum(map(len, names))
    nothing = np.zeros(count, np.int32)
    return Rows(
        keys=pa.concat_arrays(names),
        class_ids=np.zeros(count, np.int64),
        group_ids=pa.array([""] * count, pa.large_string()),
        paths=tuple(str(path.absolute()) for path in paths),
        shard=np.concatenate(shard),
        row=nothing,
        offset=np.concatenate(offset),
        size=np.concatenate(size),
        width=nothing,
        height=nothing,
    )


def _with_dimensions(rows: Rows) -> Rows:
    pool = native.open_pool(1)
    try:
        sides, _ = native.read_dimensions(pool, native.open_reader(rows.paths), rows.places(_all(rows)))
    finally:
        pool.close()
    return replace(rows, width=sides[:, 0].copy(), height=sides[:, 1].copy())


def _all(rows: Rows) -> NDArray[np.int64]:
    return np.arange(len(rows), dtype=np.int64)


def _read(rows: Rows) -> list[bytes]:
    contents = []
    for shard, offset, size in zip(rows.shard, rows.offset, rows.size, strict=True):
        with Path(rows.paths[shard]).open("rb") as file:
            file.seek(int(offset))
            contents.append(file.read(int(size)))
    return contents
