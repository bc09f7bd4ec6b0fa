"""Small snapshots over real tar shards, written as docs/formats.md says and independently of `overnight`."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from jpeg_files import jpeg, picture
from trainer.data.snapshot import Rows, open_snapshot


def write_json(path: Path, value: Any) -> str:
    """Canonical JSON; returns the hex SHA-256."""
    content = (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Member:
    """One picture to be: its bytes and what the labels say about it."""

    key: str
    content: bytes
    class_id: int
    split: str
    width: int
    height: int


def write_shards(root: Path, shards: list[list[Member]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Tars and the manifest of shard set 0001; returns {name, sha256} and one label row a member."""
    (root / "shards" / "0001").mkdir(parents=True)
    entries, rows = [], []
    for number, members in enumerate(shards):
        path = root / "shards" / "0001" / f"shard-{number:06d}.tar"
        with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
            for row, member in enumerate(members):
                info = tarfile.TarInfo(f"{member.key}.jpg")
                info.size = len(member.content)
                offset = tar.offset + 512
                tar.addfile(info, io.BytesIO(member.content))
                rows.append({"member": member, "shard": number, "row": row, "offset": offset})
        size = path.stat().st_size
        entries.append(
            {"shard": number, "path": f"0001/{path.name}", "sha256": "", "size": size, "images": len(members)}
        )
    manifest = {"format": "overnight.shards/1", "name": "0001", "shards": entries}
    sha256 = write_json(root / "shards" / "0001" / "manifest.json", manifest)
    return {"name": "0001", "sha256": sha256}, rows


def label_table(rows: list[dict[str, Any]]) -> pa.Table:
    """The columns of labels-NNNNN.parquet, sorted by key."""
    rows = sorted(rows, key=lambda row: row["member"].key)
    members = [row["member"] for row in rows]
    return pa.table(
        {
            "key": [member.key for member in members],
            "class_id": pa.array([member.class_id for member in members], pa.int32()),
            "split": pa.array([member.split for member in members]).dictionary_encode(),
            "group_id": [f"group-{member.key}" for member in members],
            "shard": pa.array([row["shard"] for row in rows], pa.int32()),
            "row": pa.array([row["row"] for row in rows], pa.int32()),
            "offset": pa.array([row["offset"] for row in rows], pa.int64()),
            "size": pa.array([len(member.content) for member in members], pa.int32()),
            "width": pa.array([member.width for member in members], pa.int32()),
            "height": pa.array([member.height for member in members], pa.int32()),
            "sha256": pa.array([hashlib.sha256(member.content).digest() for member in members], pa.binary(32)),
        }
    )


def write_snapshot(root: Path, shards: list[list[Member]], classes: list[str]) -> Path:
    """Shard set and snapshot under `root`; returns the snapshot's folder."""
    shard_set, rows = write_shards(root, shards)
    folder = root / "snapshots" / "20261130-0123456789ab"
    folder.mkdir(parents=True)
    table = label_table(rows)
    half = len(table) // 2
    files = []
    for number, part in enumerate([table.slice(0, half), table.slice(half)]):
        path = folder / f"labels-{number:05d}.parquet"
        pq.write_table(part, path)
        files.append({"path": path.name, "sha256": "", "size": path.stat().st_size, "rows": len(part)})
    write_json(folder / "classes.json", {"format": "overnight.classes/1", "classes": classes})
    manifest = {
        "format": "overnight.snapshot/1",
        "name": folder.name,
        "shard_set": shard_set,
        "counts": {"rows": len(table), "classes": _counts(rows, classes)},
        "files": files,
    }
    write_json(folder / "manifest.json", manifest)
    return folder


def _counts(rows: list[dict[str, Any]], classes: list[str]) -> Mapping[str, Mapping[str, int]]:
    counts = {name: {"train": 0, "validation": 0, "test": 0} for name in classes}
    for row in rows:
        counts[classes[row["member"].class_id]][row["member"].split] += 1
    return counts


def member(number: int, content: bytes | None = None, split: str = "train", classes: int = 3) -> Member:
    """Member number `number`: a picture of its own size, or the given bytes under the size it should have had."""
    width, height = 64 + 7 * (number % 5), 60 + 5 * (number % 7)
    content = jpeg(picture(number, width, height)) if content is None else content
    return Member(f"k/{number:04d}", content, number % classes, split, width, height)


def rows_of(root: Path, shards: list[list[Member]]) -> Rows:
    """The train rows of a new snapshot under `root`."""
    folder = write_snapshot(root, shards, ["ant", "bee", "cat"])
    return open_snapshot(folder, root / "shards").rows("train")
