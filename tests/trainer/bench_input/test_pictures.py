import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from jpeg_files import jpeg, picture
from snapshot_files import member, write_snapshot
from trainer.bench_input.pictures import MOST_SHARDS, draw
from trainer.data.snapshot import Snapshot, open_snapshot
from trainer.errors import SnapshotError

PLENTY = 1 << 30


def write_tar(path: Path, members: dict[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Three tars of eight pictures each, labels between them, in a folder of folders."""
    for shard in range(3):
        members = {}
        for number in range(8):
            members[f"{shard}{number}.JPG" if number % 2 else f"{shard}{number}.jpeg"] = jpeg(picture(number))
            members[f"{shard}{number}.cls"] = b"1"
        write_tar(tmp_path / f"set-{shard}" / "a.tar", members)
    return tmp_path


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    members = [member(number, split="train" if number < 6 else "test") for number in range(8)]
    folder = write_snapshot(tmp_path, [members[:4], members[4:]], ["ant", "bee", "cat"])
    return open_snapshot(folder, tmp_path / "shards")


def test_every_picture_of_small_shards_is_drawn(shards: Path) -> None:
    drawn = draw(shards, None, 0, 100, PLENTY)
    assert (len(drawn), drawn.shards) == (24, 3)
    assert all(file.startswith(b"\xff\xd8") and file.endswith(b"\xff\xd9") for file in drawn.files)
    assert set(zip(drawn.rows.width.tolist(), drawn.rows.height.tolist(), strict=True)) == {(90, 70)}


def test_the_seed_decides_what_is_drawn(shards: Path) -> None:
    keys = [draw(shards, None, seed, 6, PLENTY).rows.keys.to_pylist() for seed in (1, 1, 2)]
    assert keys[0] == keys[1] != keys[2]
    assert len(keys[0]) == 6


def test_the_sample_is_bounded_in_bytes(shards: Path) -> None:
    one = max(len(file) for file in draw(shards, None, 0, 100, PLENTY).files)
    assert 1 <= len(draw(shards, None, 0, 100, 3 * one)) <= 5


def test_of_many_shards_a_few_are_looked_into(tmp_path: Path) -> None:
    for shard in range(MOST_SHARDS + 4):
        write_tar(tmp_path / f"{shard:03d}.tar", {f"{shard}.jpg": jpeg(picture(shard))})
    drawn = draw(tmp_path, None, 0, 100, PLENTY)
    assert (len(drawn), drawn.shards) == (MOST_SHARDS, MOST_SHARDS + 4)


def test_one_tar_will_do(shards: Path) -> None:
    assert len(draw(shards / "set-1/a.tar", None, 0, 100, PLENTY)) == 8


def test_a_snapshot_gives_its_training_split(snapshot: Snapshot, tmp_path: Path) -> None:
    drawn = draw(snapshot.folder, tmp_path / "shards", 0, 100, PLENTY)
    assert sorted(drawn.rows.keys.to_pylist()) == sorted(snapshot.rows("train").keys.to_pylist())
    assert np.array_equal(drawn.rows.size, [len(file) for file in drawn.files])


def test_a_snapshot_without_its_shards_is_one_sentence(snapshot: Snapshot) -> None:
    with pytest.raises(SnapshotError, match="this is a snapshot; give the folder of its shards with --shards"):
        draw(snapshot.folder, None, 0, 100, PLENTY)


def test_nothing_to_measure_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="this does not exist"):
        draw(tmp_path / "none", None, 0, 100, PLENTY)
    with pytest.raises(SnapshotError, match=r"there is no \*\.tar here"):
        draw(tmp_path, None, 0, 100, PLENTY)
    write_tar(tmp_path / "a.tar", {"a.png": b"x"})
    with pytest.raises(SnapshotError, match="there is no JPEG in these shards"):
        draw(tmp_path, None, 0, 100, PLENTY)
    (tmp_path / "b.tar").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(SnapshotError, match="not a tar"):
        draw(tmp_path, None, 0, 100, PLENTY)
