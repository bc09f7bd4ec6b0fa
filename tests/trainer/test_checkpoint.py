"""A checkpoint is whole or not there, whatever happens while it is written."""

import json
import os
import resource
from pathlib import Path

import pytest
import torch

from trainer.checkpoint import CheckpointWriter, newest, remove_stale
from trainer.errors import CheckpointError

FACTS = {"config": {}, "snapshot_sha256": "0"}


def state(value: float, size: int = 4) -> dict[str, torch.Tensor]:
    return {"model/a": torch.full((size,), value), "model/b": torch.tensor(int(value))}


def saved(folder: Path, *steps: int) -> None:
    writer = CheckpointWriter(folder, keep=3)
    for step in steps:
        writer.save(step, state(float(step)), FACTS)
    writer.wait()


def test_the_newest_is_found_with_its_state(tmp_path: Path) -> None:
    saved(tmp_path, 1, 20, 3)
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 20
    assert found.tensors()["model/a"].tolist() == [20.0] * 4


def test_only_the_last_few_stay(tmp_path: Path) -> None:
    saved(tmp_path, 1, 2, 3, 4, 5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000003", "step-00000004", "step-00000005"]


def test_what_is_saved_is_what_was_there_when_it_was_asked_for(tmp_path: Path) -> None:
    writer, tensors = CheckpointWriter(tmp_path, keep=1), state(1.0, size=100_000)
    writer.save(1, tensors, FACTS)
    tensors["model/a"].fill_(-1.0)
    writer.wait()
    found = newest(tmp_path)
    assert found is not None
    assert found.tensors()["model/a"].unique().tolist() == [1.0]


def truncate(folder: Path) -> None:
    os.truncate(folder / "state.safetensors", 10)


def flip_a_bit(folder: Path) -> None:
    path = folder / "state.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def remove_the_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def cut_the_manifest(folder: Path) -> None:
    os.truncate(folder / "manifest.json", 20)


def remove_the_state(folder: Path) -> None:
    (folder / "state.safetensors").unlink()


def rename_a_format(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": "overnight.checkpoint/9"}))


def drop_a_field(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        flip_a_bit,
        remove_the_manifest,
        cut_the_manifest,
        remove_the_state,
        rename_a_format,
        drop_a_field,
    ],
)
def test_a_damaged_checkpoint_is_passed_over_with_one_line(
    tmp_path: Path, damage: object, capsys: pytest.CaptureFixture[str]
) -> None:
    saved(tmp_path, 1, 2)
    assert callable(damage)
    damage(tmp_path / "step-00000002")
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "step-00000002" in lines[0]


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    (tmp_path / ".step-00000002.abc.tmp").mkdir()
    assert newest(tmp_path) is not None
    remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_a_full_disk_is_one_sentence_and_leaves_earlier_checkpoints_whole(tmp_path: Path) -> None:
    saved(tmp_path, 1)
    writer = CheckpointWriter(tmp_path, keep=2)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        writer.save(2, state(2.0, size=200_000), FACTS)
        with pytest.raises(CheckpointError, match="free some space") as caught:
            writer.wait()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in caught.value.sentence
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]
    found = newest(tmp_path)
    assert found is not None
    assert found.step == 1
    writer.save(3, state(3.0), FACTS)
    writer.wait()


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    assert newest(tmp_path / "nowhere") is None
