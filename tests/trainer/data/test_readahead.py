"""Shards of Cloud Storage read ahead: the stream's order, the same pixels, a bounded folder, faults, two processes."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loading import all_batches, same, train_loader
from object_server import Fault, ObjectBucket
from trainer.data import native
from trainer.data.ahead import training_ahead
from trainer.data.cache import CacheConfig, ObjectCache
from trainer.data.loader import BadSamplePolicy
from trainer.data.order import Order
from trainer.data.readahead import ReadAhead, Telling
from trainer.data.remote import CloudStorage, RemoteError, RetryPolicy
from trainer.data.snapshot import Rows
from trainer.data.stream import InputStream
from trainer.errors import ConfigError

pytest.importorskip("google.cloud.storage")

SHARDS = 10
QUICK = RetryPolicy(tries=3, first_wait=0.01, longest_wait=0.02, silence_seconds=1.0)


def largest(local: Rows) -> int:
    return max(Path(path).stat().st_size for path in local.paths)


def order_of(rows: Rows, window: int = 1, seed: int = 5) -> Order:
    return Order(rows_count=len(rows), seed=seed, class_ids=rows.class_ids, shard=rows.shard,
                 shuffle_window_shards=window)  # fmt: skip


@contextlib.contextmanager
def ahead(rows: Rows, folder: Path, capacity: int, **changes: Any) -> Iterator[ReadAhead]:
    """A ReadAhead without a loader: the test is the stream."""
    arguments: dict[str, Any] = {
        "start": 0, "stop": len(rows), "in_flight": 1, "retries": QUICK, "store": CloudStorage(QUICK), **changes,
    }  # fmt: skip
    config = CacheConfig(folder=str(folder), bytes=capacity, parallel_downloads=2)
    reading = training_ahead(rows, order_of(rows), config, native.open_reader(rows.paths), **arguments)
    try:
        yield reading
    finally:
        reading.close()


@pytest.mark.parametrize(("window", "shards"), [(0, 10), (1, 3), (2, 5)])
def test_batches_from_cloud_storage_are_those_of_local_shards(
    local: Rows, remote: Rows, tmp_path: Path, window: int, shards: int
) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=shards * largest(local), parallel_downloads=2)
    # Batches of 4 and depth 2: what is in flight spans two windows at most.
    common: dict[str, Any] = {"order": order_of(local, window), "steps": (0, 45), "batch_size": 4, "depth": 2}
    expected = all_batches(train_loader(local, **common))
    found = all_batches(train_loader(remote, cache=config, **common))
    assert all(same(left, right) for left, right in zip(expected, found, strict=True))
    assert ObjectCache(tmp_path, 1).used() <= config.bytes


def test_each_shard_is_downloaded_once_when_the_cache_holds_all(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path
) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=11 * largest(local))
    for _ in range(2):  # the second run finds them
        all_batches(train_loader(remote, cache=config, steps=(0, 40)))
    assert set(bucket.downloads.values()) == {1}
    assert len(bucket.downloads) == SHARDS


def test_a_resumed_stream_downloads_what_it_needs_from_there(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path
) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=4 * largest(local), parallel_downloads=1)
    arguments: dict[str, Any] = {"batch_size": 8, "size": 16, "seed": 5, "shuffle_window_shards": 1, "depth": 2}
    with InputStream(local, epochs=1, **arguments) as whole:
        expected = [batch.images.copy() for batch in whole]
    with InputStream(remote, epochs=1, cache=config, **arguments) as stream:
        stream.load_state_dict({"position": 56, "seed": 5, "samples": 80})
        bucket.downloads.clear()
        for batch, pixels in zip(stream, expected[7:], strict=True):
            np.testing.assert_array_equal(batch.images, pixels)
    assert sum(bucket.downloads.values()) <= 3


def test_shards_come_in_the_order_in_which_the_stream_needs_them(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path
) -> None:
    files = [int(file) for file in dict.fromkeys(remote.shard[order_of(remote).epoch(0)].tolist())]
    config = CacheConfig(folder=str(tmp_path), bytes=20 * largest(local), parallel_downloads=1)
    reading = training_ahead(
        remote, order_of(remote), config, native.open_reader(remote.paths), start=0, stop=80, in_flight=1
    )
    assert reading.fetch([files[-1]], wait=True)
    reading.close()
    assert list(bucket.downloads) == [Path(remote.paths[file]).name for file in files]


def test_read_ahead_stays_within_the_cache_and_goes_on_when_the_stream_does(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path
) -> None:
    files = [int(file) for file in dict.fromkeys(remote.shard[order_of(remote).epoch(0)].tolist())]
    capacity = 3 * largest(local)
    with ahead(remote, tmp_path, capacity) as reading:
        assert reading.fetch(files[:3], wait=True)
        time.sleep(0.3)
        assert not reading.fetch([files[3]], wait=False)
        assert len(list(tmp_path.glob("*.tar"))) == 3
        for number in range(1, 8):
            reading.passed(8 * number)
            assert reading.fetch([files[number + 2]], wait=True)
            assert ObjectCache(tmp_path, capacity).used() <= capacity
    assert set(bucket.downloads.values()) == {1}


def test_a_file_that_was_let_go_gives_its_disk_space_back(remote: Rows, local: Rows, tmp_path: Path) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=3 * largest(local))
    with train_loader(remote, order=order_of(remote), steps=(0, 30), cache=config, batch_size=4, depth=2) as loader:
        for _ in loader:
            assert not [name for name in open_files() if str(tmp_path) in name and "(deleted)" in name]


def open_files() -> Iterator[str]:
    """What this process's descriptors point at."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield str(descriptor.readlink())


def test_a_cache_smaller_than_a_shard_is_refused_at_the_start(remote: Rows, local: Rows, tmp_path: Path) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=largest(local) // 2)
    with pytest.raises(ConfigError, match=r"data\.cache\.bytes"):
        train_loader(remote, order=order_of(remote), cache=config)


def test_shards_that_are_on_this_machine_are_not_read_ahead(local: Rows, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"leave data\.cache\.folder empty"):
        train_loader(local, cache=CacheConfig(folder=str(tmp_path)))


def test_faults_that_pass_do_not_change_the_batches(
    bucket: ObjectBucket, local: Rows, remote: Rows, tmp_path: Path
) -> None:
    names = [Path(path).name for path in remote.paths]
    bucket.fail(names[1], Fault(status=503))
    bucket.fail(names[2], Fault(after=1000, cut=True))
    bucket.fail(names[3], Fault(after=500, flip=True))
    bucket.fail(names[4], Fault(pause=0.05))
    config = CacheConfig(folder=str(tmp_path), bytes=11 * largest(local))
    expected = all_batches(train_loader(local))
    found = all_batches(train_loader(remote, cache=config))
    assert all(same(left, right) for left, right in zip(expected, found, strict=True))
    assert [bucket.downloads[name] for name in names[1:5]] == [2, 2, 2, 1]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [(403, "may not be read"), (404, "is not there"), (503, "in 3 tries; the last one: HTTP 503")],
)
def test_an_object_that_cannot_be_had_ends_the_stream_where_it_is_needed_first(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path, fault: int, sentence: str
) -> None:
    files = [int(file) for file in dict.fromkeys(remote.shard[order_of(remote).epoch(0)].tolist())]
    bucket.fail(Path(remote.paths[files[4]]).name, *[Fault(status=fault)] * 3)
    with ahead(remote, tmp_path, 11 * largest(local)) as reading:
        assert reading.fetch([*files[:4], *files[5:]], wait=True)
        with pytest.raises(RemoteError, match=f"{remote.paths[files[4]]}: .*{sentence}"):
            reading.fetch([files[4]], wait=True)


def test_a_full_disk_is_said(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with ahead(remote, tmp_path, 11 * largest(local)) as reading, pytest.raises(OSError, match="No space left"):
        reading.fetch([0], wait=True)
    assert list(tmp_path.glob("*.part")) == []


def test_a_wait_is_told_once_with_how_far_the_object_is_and_counted(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path
) -> None:
    lines: list[str] = []
    file = int(remote.shard[order_of(remote).epoch(0)[0]])
    bucket.put(Path(remote.paths[file]).name, bytes(2_000_000))
    bucket.fail(Path(remote.paths[file]).name, Fault(status=503), Fault(pause=0.02))
    with ahead(remote, tmp_path, 9_000_000, telling=Telling(after=0.7, say=lines.append)) as reading:
        assert reading.fetch([file], wait=True)
        waited = reading.traffic.waited_seconds
    assert len(lines) == 1
    assert lines[0].startswith(f"trainer: waiting 1 s for {remote.paths[file]}, ")
    assert lines[0].endswith(" MB of 2 MB, try 2")
    assert 1.5 < waited < 10


def test_a_wait_for_room_is_told(bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path) -> None:
    lines: list[str] = []
    capacity = 3 * largest(local)
    other = ObjectCache(tmp_path, capacity)
    store = CloudStorage(QUICK)
    held = [other.begin(replace(store.describe(remote.paths[0]), url=f"gs://other/{number}")) for number in range(3)]
    file = int(remote.shard[order_of(remote).epoch(0)[0]])
    with ahead(remote, tmp_path, capacity, telling=Telling(after=0.3, say=lines.append)) as reading:

        def free() -> None:
            time.sleep(0.8)
            for part in held:
                assert part is not None
                part.abandon()

        threading.Thread(target=free).start()
        assert reading.fetch([file], wait=True)
    assert len(lines) == 1
    assert "no room in the cache: other processes use it" in lines[0]


def test_no_room_is_taken_for_a_later_shard_while_another_process_brings_an_earlier_one(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path
) -> None:
    """Or it could be all the room there is, and the earlier one gone when its turn comes."""
    files = [int(file) for file in dict.fromkeys(remote.shard[order_of(remote).epoch(0)].tolist())]
    other = ObjectCache(tmp_path, 3 * largest(local)).begin(CloudStorage(QUICK).describe(remote.paths[files[0]]))
    assert other is not None
    with ahead(remote, tmp_path, 3 * largest(local)) as reading:
        time.sleep(0.5)
        assert list(tmp_path.glob("*.tar")) == []
        other.abandon()
        assert reading.fetch(files[:3], wait=True)


def test_a_substitute_is_fetched_alone(bucket: ObjectBucket, local: Rows, remote: Rows, tmp_path: Path) -> None:
    def broken(rows: Rows) -> Rows:
        size = rows.size.copy()
        size[::9] = 3
        return replace(rows, size=size)

    common: dict[str, Any] = {"order": order_of(local), "steps": (0, 20), "batch_size": 4, "depth": 2,
                              "policy": BadSamplePolicy("skip", 20)}  # fmt: skip
    config = CacheConfig(folder=str(tmp_path), bytes=3 * largest(local), parallel_downloads=1)
    expected = all_batches(train_loader(broken(local), **common))
    found = all_batches(train_loader(broken(remote), cache=config, **common))
    assert all(same(left, right) for left, right in zip(expected, found, strict=True))
    assert sum(bucket.sent.values()) < 2 * sum(Path(path).stat().st_size for path in local.paths)


PROGRAM = """
import sys, json, hashlib
from pathlib import Path
from dataclasses import replace
from trainer.data.cache import CacheConfig, ObjectCache
from trainer.data.order import Order
from trainer.data.snapshot import open_snapshot
from loading import train_loader
folder, shards, cache, capacity, seed = sys.argv[1:]
rows = open_snapshot(Path(folder), Path(shards)).rows("train")
rows = replace(rows, paths=tuple(f"gs://data/{Path(path).name}" for path in rows.paths))
order = Order(rows_count=len(rows), seed=int(seed), class_ids=rows.class_ids, shard=rows.shard, shuffle_window_shards=1)
config = CacheConfig(folder=cache, bytes=int(capacity), parallel_downloads=2)
digest, most = hashlib.sha256(), 0
with train_loader(rows, order=order, steps=(0, 20), batch_size=4, depth=2, threads=1, cache=config) as loader:
    for batch in loader:
        digest.update(batch.images)
        most = max(most, ObjectCache(Path(cache), 1).used())
        print(json.dumps([digest.hexdigest(), most]), flush=True)
"""


@pytest.fixture
def reader_process(local: Rows, tmp_path: Path) -> Iterator[Callable[[int, int], "subprocess.Popen[str]"]]:
    """`start(seed, capacity)`: a process that reads one epoch through the cache in tmp_path."""
    shards = Path(local.paths[0]).parents[1]
    (folder,) = (shards.parent / "snapshots").iterdir()
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    started: list[subprocess.Popen[str]] = []

    def start(seed: int, capacity: int) -> "subprocess.Popen[str]":
        arguments = [str(folder), str(shards), str(tmp_path), str(capacity), str(seed)]
        started.append(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *arguments],
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONPATH": path},
            )
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def result(process: "subprocess.Popen[str]") -> list[Any]:
    output = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == 0
    assert len(output) == 20
    return list(json.loads(output[-1]))


@pytest.mark.parametrize("seeds", [(5, 5), (5, 6)])
def test_two_processes_share_a_cache_of_three_shards(
    bucket: ObjectBucket, local: Rows, reader_process: Callable[[int, int], Any], seeds: tuple[int, int]
) -> None:
    capacity = 3 * largest(local)
    for path in local.paths:
        bucket.fail(Path(path).name, *[Fault(pause=0.05)] * 3)
    processes = [reader_process(seed, capacity) for seed in seeds]
    found = [result(process) for process in processes]
    for seed, (digest, most) in zip(seeds, found, strict=True):
        assert digest == pixels_digest(local, seed)
        assert most <= capacity
    assert max(bucket.downloads.values()) <= 2
    assert len(bucket.downloads) == SHARDS


def test_killed_while_downloading_and_started_again(
    bucket: ObjectBucket, local: Rows, reader_process: Callable[[int, int], Any], tmp_path: Path
) -> None:
    capacity = 3 * largest(local)
    for path in local.paths:
        bucket.fail(Path(path).name, Fault(pause=0.3))
    killed = reader_process(5, capacity)
    while not list(tmp_path.glob("*.part")):
        time.sleep(0.02)
    killed.kill()
    killed.wait()
    assert list(tmp_path.glob("*.part"))
    bucket.faults.clear()
    digest, most = result(reader_process(5, capacity))
    assert most <= capacity
    assert list(tmp_path.glob("*.part")) == []
    assert digest == pixels_digest(local, 5)


def pixels_digest(rows: Rows, seed: int) -> str:
    """Of what a process of PROGRAM reads."""
    found = hashlib.sha256()
    for batch in all_batches(train_loader(rows, order=order_of(rows, seed=seed), steps=(0, 20), batch_size=4)):
        found.update(batch.images)
    return found.hexdigest()
