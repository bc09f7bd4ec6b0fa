"""A small snapshot with its shard set, as docs/formats.md has them: noisy coloured patterns, one pattern a class."""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


@dataclass(frozen=True)
class Synthetic:
    """Where it stands."""

    snapshot: Path
    shards: Path


@dataclass(frozen=True)
class _Picture:
    key: str
    class_id: int
    split: str
    jpeg: bytes
    width: int
    height: int


def write_synthetic(
    folder: Path,
    *,
    images: int = 60,
    classes: tuple[str, ...] = ("bars", "checks", "dots"),
    seed: int = 0,
    sides: tuple[int, int] = (40, 72),
) -> Synthetic:
    """Write `folder`/shards and `folder`/snapshots; of every ten images one validates and two test.

    `sides`: pixels, the second not included. A function of its arguments: same arguments, same bytes.
    """
    pictures = sorted(_pictures(images, len(classes), seed, sides), key=lambda picture: picture.key)
    places = _write_shards(folder / "shards" / "0001", pictures, per_shard=max(10, images // 4))
    return Synthetic(
        _write_snapshot(folder / "snapshots", folder / "shards", pictures, places, classes), folder / "shards"
    )


def _pictures(images: int, classes: int, seed: int, sides: tuple[int, int]) -> Iterator[_Picture]:
    random = np.random.default_rng(seed)
    for number in range(images):
        class_id = number % classes
        width, height = (int(side) for side in random.integers(*sides, 2))
        buffer = io.BytesIO()
        Image.fromarray(_pattern(class_id, width, height, random)).save(buffer, "JPEG", quality=90)
        split = ("validation", "test", "test")[number // classes % 10] if number // classes % 10 < 3 else "train"
        yield _Picture(f"synthetic/{number:05d}", class_id, split, buffer.getvalue(), width, height)


def _pattern(class_id: int, width: int, height: int, random: np.random.Generator) -> np.ndarray[Any, Any]:
    y, x = np.mgrid[0:height, 0:width]
    period = 5 + 3 * class_id
    waves = (np.sin(x * 2 * np.pi / period), np.sign(np.sin(x / period) * np.sin(y / period)), np.cos(y / period))
    colour = random.uniform(0.3, 1.0, 3)
    noise = random.normal(0, 25, (height, width, 3))
    values = 128 + 70 * waves[class_id % 3][..., None] * colour + noise
    return np.asarray(values.clip(0, 255), dtype=np.uint8)


def _write_shards(folder: Path, pictures: list[_Picture], per_shard: int) -> list[tuple[int, int, int]]:
    folder.mkdir(parents=True)
    places, shards = [], []
    for shard, first in enumerate(range(0, len(pictures), per_shard)):
        path = folder / f"shard-{shard:06d}.tar"
        part = pictures[first : first + per_shard]
        places += [(shard, row, offset) for row, offset in enumerate(_write_tar(path, part))]
        shards.append({"shard": shard, "path": f"0001/{path.name}", "images": len(part), **_digest(path)})
    nothing = {"sha256": hashlib.sha256(b"").hexdigest(), "rows": 0}
    manifest = {
        "format": "overnight.shards/1",
        "name": "0001",
        "previous": None,
        "settings": {"max_shorter_side": 0, "jpeg_quality": 95, "images_per_shard": per_shard},
        "shards": shards,
        # The trainer reads neither: a snapshot repeats what it needs of the index.
        "index": {"path": "index.parquet", **nothing},
        "quarantine": {"path": "quarantine.parquet", **nothing},
        "images": len(pictures),
        "bytes": sum(len(picture.jpeg) for picture in pictures),
    }
    (folder / "manifest.json").write_bytes(_canonical(manifest))
    return places


def _write_tar(path: Path, pictures: list[_Picture]) -> list[int]:
    """Offsets of the JPEGs' first bytes."""
    offsets = []
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for picture in pictures:
            member = tarfile.TarInfo(f"{picture.key}.jpg")
            member.size, member.mode = len(picture.jpeg), 0o644
            offsets.append(tar.offset + tarfile.BLOCKSIZE)
            tar.addfile(member, io.BytesIO(picture.jpeg))
    return offsets


def _write_snapshot(
    snapshots: Path,
    shards: Path,
    pictures: list[_Picture],
    places: list[tuple[int, int, int]],
    classes: tuple[str, ...],
) -> Path:
    content = hashlib.sha256(b"".join(picture.jpeg for picture in pictures)).hexdigest()
    folder = snapshots / f"20260302-{content[:12]}"
    folder.mkdir(parents=True)
    shard, row, offset = (list(column) for column in zip(*places, strict=True))
    table = pa.table(
        {
            "key": [p.key for p in pictures],
            "class_id": pa.array([p.class_id for p in pictures], pa.int32()),
            "split": pa.array([p.split for p in pictures]).dictionary_encode(),
            "group_id": [p.key for p in pictures],
            "shard": pa.array(shard, pa.int32()),
            "row": pa.array(row, pa.int32()),
            "offset": pa.array(offset, pa.int64()),
            "size": pa.array([len(p.jpeg) for p in pictures], pa.int32()),
            "width": pa.array([p.width for p in pictures], pa.int32()),
            "height": pa.array([p.height for p in pictures], pa.int32()),
            "sha256": pa.array([hashlib.sha256(p.jpeg).digest() for p in pictures], pa.binary(32)),
        }
    )
    pq.write_table(table, folder / "labels-00000.parquet")
    (folder / "classes.json").write_bytes(_canonical({"format": "overnight.classes/1", "classes": list(classes)}))
    manifest = {
        "format": "overnight.snapshot/1",
        "name": folder.name,
        "created": "2026-03-02T02:00:00Z",
        "source": {"kind": "synthetic"},
        "shard_set": {"name": "0001", "sha256": _digest(shards / "0001" / "manifest.json")["sha256"]},
        "split": {"salt": "none", "train": 0.7, "validation": 0.1, "test": 0.2},
        "counts": {"rows": len(pictures), "classes": _count(pictures, classes)},
        "previous": None,
        "content_sha256": content,
        "files": [
            {"path": "labels-00000.parquet", "rows": len(pictures), **_digest(folder / "labels-00000.parquet")},
            {"path": "classes.json", "rows": len(classes), **_digest(folder / "classes.json")},
        ],
    }
    (folder / "manifest.json").write_bytes(_canonical(manifest))
    return folder


def _count(pictures: list[_Picture], classes: tuple[str, ...]) -> dict[str, dict[str, int]]:
    counts = {name: {"train": 0, "validation": 0, "test": 0} for name in classes}
    for picture in pictures:
        counts[classes[picture.class_id]][picture.split] += 1
    return counts


def _digest(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}


def _canonical(value: Any) -> bytes:
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False) + "\n").encode()
