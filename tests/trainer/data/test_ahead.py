"""Evaluation and single files through the cache: the same pixels, room for one shard, nobody waits for another."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jpeg_files import jpeg, picture
from loading import eval_loader, train_loader
from object_server import Fault, ObjectBucket
from other_pictures import slow_member
from snapshot_files import member, write_snapshot
from trainer.data.ahead import beside_evaluation, brought
from trainer.data.cache import CacheConfig, ObjectCache, Traffic
from trainer.data.evaluation import EvalLoader
from trainer.data.order import Order
from trainer.data.remote import CloudStorage, RemoteError, RetryPolicy
from trainer.data.snapshot import Rows, open_snapshot
from trainer.errors import ConfigError

pytest.importorskip("google.cloud.storage")

QUICK = RetryPolicy(tries=3, first_wait=0.01, longest_wait=0.02, silence_seconds=1.0)


@pytest.fixture
def mixed_up(local: Rows) -> Rows:
    """The rows in an order in which every batch needs most shards, as keys have it."""
    return local.take(np.random.default_rng(4).permutation(80))


def far(rows: Rows) -> Rows:
    return replace(rows, paths=tuple(f"gs://data/{Path(path).name}" for path in rows.paths))


def largest(rows: Rows) -> int:
    return max(Path(path).stat().st_size for path in rows.paths)


def pixels_of(loader: EvalLoader) -> dict[int, bytes]:
    """Each row's picture."""
    return {
        int(index): image.tobytes()
        for batch in loader
        for index, image in zip(batch.indices, batch.images, strict=True)
    }


@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.parametrize("shards", [1, 3, 10])
def test_an_evaluation_from_cloud_storage_is_the_one_of_local_shards(
    bucket: ObjectBucket, mixed_up: Rows, tmp_path: Path, shards: int, world_size: int
) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=shards * largest(mixed_up), parallel_downloads=2)
    with eval_loader(mixed_up) as loader:
        expected = pixels_of(loader)
    found: dict[int, bytes] = {}
    for rank in range(world_size):
        with eval_loader(far(mixed_up), cache=config, rank=rank, world_size=world_size) as loader:
            found |= pixels_of(loader)
            assert loader.traffic is not None
            assert loader.traffic.hits + loader.traffic.misses == 10
    assert found == expected
    assert ObjectCache(tmp_path, 1).used() <= config.bytes


def test_rows_come_shard_by_shard_and_each_is_downloaded_once_however_small_the_cache(
    bucket: ObjectBucket, mixed_up: Rows, tmp_path: Path
) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=largest(mixed_up))
    with eval_loader(far(mixed_up), cache=config) as loader:
        order = np.concatenate([batch.indices for batch in loader])
        assert (np.diff(mixed_up.shard[order]) >= 0).all()
        assert sorted(order.tolist()) == list(range(80))
        assert set(bucket.downloads.values()) == {1}
        assert loader.traffic is not None
        assert (loader.traffic.misses, loader.traffic.hits, loader.traffic.evictions) == (10, 0, 9)
        pixels_of(loader)  # may be iterated again
        assert set(bucket.downloads.values()) == {2}


def test_what_reading_ahead_did_is_counted(bucket: ObjectBucket, local: Rows, remote: Rows, tmp_path: Path) -> None:
    names = [Path(path).name for path in remote.paths]
    bucket.fail(names[2], Fault(status=503))
    bucket.fail(names[3], Fault(after=1000, cut=True))
    bucket.fail(names[5], Fault(pause=0.2))
    config = CacheConfig(folder=str(tmp_path))
    sizes = sum(Path(path).stat().st_size for path in local.paths)
    with eval_loader(remote, cache=config) as loader:
        pixels_of(loader)
        first = loader.traffic
        pixels_of(loader)
        both = loader.traffic
    assert first is not None
    assert both is not None
    assert (first.bytes_fetched, first.retries, first.hits, first.misses) == (sizes, 2, 0, 10)
    assert first.waited_seconds > 0.1
    again = replace(both, waited_seconds=0)
    assert again == replace(first, waited_seconds=0) + Traffic(hits=10)


@pytest.mark.parametrize(("status", "sentence"), [(404, "is not there"), (403, "may not be read")])
def test_a_shard_that_cannot_be_had_ends_the_evaluation(
    bucket: ObjectBucket, remote: Rows, tmp_path: Path, status: int, sentence: str
) -> None:
    bucket.fail(Path(remote.paths[4]).name, Fault(status=status))
    with (
        eval_loader(remote, cache=CacheConfig(folder=str(tmp_path))) as loader,
        pytest.raises(RemoteError, match=f"{remote.paths[4]}: .*{sentence}"),
    ):
        list(loader)


def test_a_shard_larger_than_the_cache_is_an_error_and_no_endless_wait(
    bucket: ObjectBucket, remote: Rows, local: Rows, tmp_path: Path
) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=largest(local) // 2)
    with eval_loader(remote, cache=config) as loader, pytest.raises(RemoteError, match="give the cache more bytes"):
        list(loader)


def test_shards_on_this_machine_are_refused(local: Rows, tmp_path: Path) -> None:
    with eval_loader(local, cache=CacheConfig(folder=str(tmp_path))) as loader, pytest.raises(ConfigError):
        list(loader)


def test_pictures_for_pillow_are_decoded_before_their_shard_goes(bucket: ObjectBucket, tmp_path: Path) -> None:
    members = [slow_member(number) if number % 3 else member(number) for number in range(24)]
    folder = write_snapshot(tmp_path, [members[at::4] for at in range(4)], ["ant", "bee", "cat"])
    rows = open_snapshot(folder, tmp_path / "shards").rows("train")
    for path in rows.paths:
        bucket.put(Path(path).name, Path(path).read_bytes())
    config = CacheConfig(folder=str(tmp_path / "cache"), bytes=largest(rows))
    with eval_loader(rows) as loader:
        expected = pixels_of(loader)
    with eval_loader(far(rows), cache=config, batch_size=9) as loader:
        assert pixels_of(loader) == expected
        assert loader.slow_samples == 16


def test_two_evaluations_in_a_cache_of_one_shard_both_end(bucket: ObjectBucket, mixed_up: Rows, tmp_path: Path) -> None:
    config = CacheConfig(folder=str(tmp_path), bytes=largest(mixed_up), parallel_downloads=2)
    found: list[dict[int, bytes]] = []

    def evaluate() -> None:
        with eval_loader(far(mixed_up), cache=config, batch_size=16) as loader:
            found.append(pixels_of(loader))

    threads = [threading.Thread(target=evaluate) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(found) == 2
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(4))
def test_an_evaluation_ends_while_training_holds_its_share_of_the_cache(
    bucket: ObjectBucket, mixed_up: Rows, tmp_path: Path, seed: int
) -> None:
    rows = far(mixed_up)
    config = CacheConfig(folder=str(tmp_path), bytes=4 * largest(mixed_up), parallel_downloads=2)
    share = beside_evaluation(config, mixed_up)
    assert share.bytes == 3 * largest(mixed_up)
    order = Order(rows_count=80, seed=seed, class_ids=rows.class_ids, shard=rows.shard, shuffle_window_shards=1)
    common: dict[str, Any] = {"order": order, "steps": (0, 40), "batch_size": 4, "depth": 2}
    with train_loader(rows, cache=share, **common) as training:
        next(training)
        while len(list(tmp_path.glob("*.tar"))) < 3:  # until it has filled its share
            threading.Event().wait(0.01)
        with eval_loader(rows, cache=config) as loader:
            assert len(pixels_of(loader)) == 80
        assert len(list(training)) == 39
    assert ObjectCache(tmp_path, 1).used() <= config.bytes


def test_files_are_brought_one_after_the_other_and_others_stay_where_they_are(
    bucket: ObjectBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERNIGHT_GCS_ROOT", str(tmp_path / "mount"))
    contents = [jpeg(picture(number)) for number in range(6)]
    for number, content in enumerate(contents):
        bucket.put(f"a/{number}.jpg", content)
    bucket.fail("a/2.jpg", Fault(status=503))
    here = tmp_path / "here.jpg"
    here.write_bytes(b"here")
    mounted = [tmp_path / "mount" / "data" / "a" / f"{number}.jpg" for number in range(6)]
    paths = [*mounted[:3], here, tmp_path / "mount" / "data" / "none.jpg", *mounted[3:]]
    folder = tmp_path / "cache"
    config = CacheConfig(folder=str(folder), bytes=max(map(len, contents)))
    found = []
    for near, problem in brought(paths, config, retries=QUICK, store=CloudStorage(QUICK)):
        found.append((near.read_bytes(), problem))
        assert len(list(folder.glob("*.tar"))) <= 1
    assert [content for content, _ in found] == [*contents[:3], b"here", b"", *contents[3:]]
    problems = [problem for _, problem in found]
    assert [bool(problem) for problem in problems] == [False] * 4 + [True] + [False] * 3
    assert problems[4].startswith("gs://data/none.jpg: this object is not there")
