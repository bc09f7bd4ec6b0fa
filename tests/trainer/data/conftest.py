"""Fixtures of the input side: one snapshot for all tests, ten shards in Cloud Storage, and this process's memory."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from snapshot_files import member, write_snapshot
from trainer.data.snapshot import Rows, Snapshot, open_snapshot

if TYPE_CHECKING:
    from object_server import ObjectBucket


@pytest.fixture(scope="session")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """48 train, 10 validation and 6 test pictures of three classes in five shards."""
    root = tmp_path_factory.mktemp("snapshot")
    splits = ["train"] * 48 + ["validation"] * 10 + ["test"] * 6
    members = [member(number, split=split) for number, split in enumerate(splits)]
    shards = [members[start::5] for start in range(5)]
    return open_snapshot(write_snapshot(root, shards, ["ant", "bee", "cat"]), root / "shards")


@pytest.fixture(scope="session")
def rows(snapshot: Snapshot) -> Rows:
    """Its train rows."""
    return snapshot.rows("train")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """80 pictures in ten shards on this machine."""
    root = tmp_path_factory.mktemp("ten")
    members = [member(number, split="train") for number in range(80)]
    shards = [members[start : start + 8] for start in range(0, 80, 8)]
    return open_snapshot(write_snapshot(root, shards, ["ant", "bee", "cat"]), root / "shards").rows("train")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, local: Rows) -> Iterator["ObjectBucket"]:
    """The same shards in Cloud Storage."""
    pytest.importorskip("google.cloud.storage")
    from object_server import serving_objects

    with serving_objects("data") as bucket:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket.url)
        for path in local.paths:
            bucket.put(Path(path).name, Path(path).read_bytes())
        yield bucket


@pytest.fixture
def remote(bucket: "ObjectBucket", local: Rows) -> Rows:
    """The rows that point there."""
    return replace(local, paths=tuple(f"gs://data/{Path(path).name}" for path in local.paths))


@pytest.fixture
def resident_bytes() -> Callable[[], int]:
    """A function that gives this process's resident memory in bytes."""

    def read() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096

    return read
