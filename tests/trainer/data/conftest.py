"""Fixtures of the input side: one snapshot for all tests, and this process's memory."""

from collections.abc import Callable
from pathlib import Path

import pytest

from snapshot_files import member, write_snapshot
from trainer.data.snapshot import Rows, Snapshot, open_snapshot


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


@pytest.fixture
def resident_bytes() -> Callable[[], int]:
    """A function that gives this process's resident memory in bytes."""

    def read() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * 4096

    return read
