"""Opening a snapshot: what is there, and one sentence for each thing that is not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snapshot_files import member, write_snapshot
from trainer.data.snapshot import Rows, Snapshot, open_snapshot
from trainer.errors import SnapshotError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    members = [member(number, split="test" if number % 4 == 3 else "train") for number in range(12)]
    write_snapshot(tmp_path, [members[::2], members[1::2]], ["ant", "bee", "cat"])
    return tmp_path


def folder(root: Path) -> Path:
    return next((root / "snapshots").iterdir())


def reopen(root: Path) -> Snapshot:
    return open_snapshot(folder(root), root / "shards")


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def test_a_snapshot_gives_its_rows_in_key_order(root: Path) -> None:
    snapshot = reopen(root)
    rows = snapshot.rows("train")
    assert snapshot.classes == ("ant", "bee", "cat")
    assert snapshot.splits == {"train": 9, "validation": 0, "test": 3}
    assert rows.keys.to_pylist() == sorted(rows.keys.to_pylist())
    assert len(rows) == 9
    assert len(snapshot.rows("validation")) == 0
    for i in range(len(rows)):
        number = int(rows.keys[i].as_py()[-4:])
        content = member(number).content
        with Path(rows.paths[rows.shard[i]]).open("rb") as shard:
            shard.seek(int(rows.offset[i]))
            assert shard.read(int(rows.size[i])) == content
        assert rows.class_ids[i] == number % 3
        assert rows.group_ids[i].as_py() == f"group-k/{number:04d}"


def test_chosen_rows_come_in_the_order_asked_for(root: Path) -> None:
    rows = reopen(root).rows("train")
    chosen = rows.take(np.array([5, 0, 5]))
    assert chosen.keys.to_pylist() == [rows.keys[i].as_py() for i in (5, 0, 5)]
    np.testing.assert_array_equal(chosen.offset, rows.offset[[5, 0, 5]])
    assert chosen.paths == rows.paths


def test_rows_are_arrays_and_no_objects(rows: Rows) -> None:
    for name in ("class_ids", "shard", "row", "offset", "size", "width", "height"):
        assert getattr(rows, name).dtype.kind == "i"


def test_an_unknown_split_is_refused(root: Path) -> None:
    with pytest.raises(SnapshotError, match="train, validation, test"):
        reopen(root).rows("training")


def broken_manifest(root: Path) -> None:
    (folder(root) / "manifest.json").write_text("{")


def other_format(root: Path) -> None:
    change(folder(root) / "manifest.json", lambda value: value.update(format="overnight.snapshot/9"))


def missing_labels(root: Path) -> None:
    (folder(root) / "labels-00001.parquet").unlink()


def shorter_labels(root: Path) -> None:
    path = folder(root) / "labels-00000.parquet"
    path.write_bytes(path.read_bytes()[:-1])


def damaged_labels(root: Path) -> None:
    path = folder(root) / "labels-00000.parquet"
    path.write_bytes(bytes(path.stat().st_size))


def missing_classes(root: Path) -> None:
    (folder(root) / "classes.json").unlink()


def other_shard_set(root: Path) -> None:
    change(root / "shards" / "0001" / "manifest.json", lambda value: value.update(name="0002"))


def missing_shards(root: Path) -> None:
    shutil.rmtree(root / "shards" / "0001")


def missing_tar(root: Path) -> None:
    (root / "shards" / "0001" / "shard-000001.tar").unlink()


def truncated_tar(root: Path) -> None:
    path = root / "shards" / "0001" / "shard-000000.tar"
    path.write_bytes(path.read_bytes()[:-2000])


def unknown_class(root: Path) -> None:
    change(folder(root) / "classes.json", lambda value: value["classes"].pop())


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (broken_manifest, ["manifest.json", "not JSON"]),
        (other_format, ["manifest.json", "overnight.snapshot/9"]),
        (missing_labels, ["labels-00001.parquet", "missing"]),
        (shorter_labels, ["labels-00000.parquet", "bytes where the manifest says"]),
        (damaged_labels, ["labels-00000.parquet", "cannot be read"]),
        (missing_classes, ["classes.json", "missing"]),
        (other_shard_set, ["not the shard set"]),
        (missing_shards, ["0001/manifest.json", "missing"]),
        (missing_tar, ["shard-000001.tar", "missing"]),
        (truncated_tar, ["shard-000000.tar", "bytes where the manifest says"]),
        (unknown_class, ["key k/", "classes.json"]),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(root: Path, damage: Callable[[Path], None], words: list[str]) -> None:
    damage(root)
    with pytest.raises(SnapshotError) as caught:
        reopen(root).rows("train")
    assert all(word in caught.value.sentence for word in words)
    assert "\n" not in caught.value.sentence
    assert caught.value.exit_code == 2


def test_a_wrong_path_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="missing; check the folder's path"):
        open_snapshot(tmp_path / "nowhere", tmp_path)
