"""The folder of shards: bounded, shared, and whole after any process was killed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.data.cache import Busy, CacheConfig, Full, ObjectCache
from trainer.data.remote import StoredObject
from trainer.errors import ConfigError

SIZE = 1000


def stored(number: int, generation: int = 1) -> StoredObject:
    return StoredObject(f"gs://b/{number}.tar", generation, SIZE, 0)


def put(cache: ObjectCache, number: int, content: bytes = b"x" * SIZE) -> Path:
    """Bring an object and let it go; its file."""
    part = cache.begin(stored(number))
    assert part is not None
    part.write_at(0, content)
    held = part.finish()
    held.release()
    return held.path


def is_here(cache: ObjectCache, number: int) -> bool:
    held = cache.hold(stored(number))
    if held is not None:
        held.release()
    return held is not None


def used_at(path: Path, second: int) -> None:
    os.utime(path, (second, second))


@pytest.fixture
def cache(tmp_path: Path) -> ObjectCache:
    """Room for three objects."""
    return ObjectCache(tmp_path / "cache", 3 * SIZE)


def test_what_was_brought_is_there(cache: ObjectCache) -> None:
    assert cache.hold(stored(1)) is None
    path = put(cache, 1, b"y" * SIZE)
    held = cache.hold(stored(1))
    assert held is not None
    assert held.path == path
    assert path.read_bytes() == b"y" * SIZE
    assert cache.used() == SIZE


def test_another_version_of_an_object_is_another_file(cache: ObjectCache) -> None:
    put(cache, 1)
    assert cache.hold(stored(1, generation=2)) is None


def test_the_least_recently_used_goes_first(cache: ObjectCache) -> None:
    paths = [put(cache, number) for number in range(3)]
    for second, path in enumerate(paths, start=100):
        used_at(path, second)
    assert is_here(cache, 0)  # used now
    put(cache, 3)
    assert [is_here(cache, number) for number in range(4)] == [True, False, True, True]
    assert cache.used() == 3 * SIZE


def test_what_is_in_use_never_goes(cache: ObjectCache) -> None:
    for number in range(3):
        put(cache, number)
    held = [cache.hold(stored(number)) for number in range(3)]
    assert cache.begin(stored(3)) is None
    assert held[1] is not None
    held[1].release()
    put(cache, 3)
    assert [is_here(cache, number) for number in range(4)] == [True, False, True, True]


def test_whoever_may_use_less_leaves_the_rest_free_also_of_what_others_brought(
    cache: ObjectCache, tmp_path: Path
) -> None:
    less = ObjectCache(tmp_path / "cache", 2 * SIZE)
    held = [less.hold(stored(number)) for number in (1, 2) if put(cache, number)]
    other = cache.begin(stored(3))
    assert other is not None
    used = other.finish()
    with pytest.raises(Full):  # that would be a third, and nothing can go
        less.hold(stored(3))
    used.release()
    with pytest.raises(Full):
        less.hold(stored(3))
    assert held[0] is not None
    held[0].release()
    third = less.hold(stored(3))
    assert third is not None
    assert not is_here(cache, 1)
    assert cache.begin(stored(4)) is not None


def test_room_counts_from_the_beginning_of_a_download(cache: ObjectCache) -> None:
    parts = [cache.begin(stored(number)) for number in range(4)]
    assert [part is not None for part in parts] == [True, True, True, False]
    assert cache.used() == 3 * SIZE
    assert parts[0] is not None
    parts[0].abandon()
    assert cache.used() == 2 * SIZE
    assert cache.begin(stored(3)) is not None


def test_an_object_larger_than_the_cache_has_no_room_and_pushes_out_nothing_in_vain(tmp_path: Path) -> None:
    cache = ObjectCache(tmp_path, SIZE - 1)
    assert cache.begin(stored(1)) is None
    assert cache.used() == 0


def test_one_object_is_brought_by_one_at_a_time(cache: ObjectCache) -> None:
    part = cache.begin(stored(1))
    assert part is not None
    with pytest.raises(Busy):
        cache.begin(stored(1))
    assert cache.hold(stored(1)) is None  # not before it is whole
    held = part.finish()
    with pytest.raises(Busy):
        cache.begin(stored(1))
    held.release()
    assert is_here(cache, 1)


def test_what_a_killed_process_left_is_reclaimed(cache: ObjectCache, tmp_path: Path) -> None:
    program = (
        "import os, signal; from trainer.data.cache import *; from trainer.data.remote import StoredObject\n"
        f"cache = ObjectCache(Path({str(tmp_path / 'cache')!r}), {3 * SIZE})\n"
        f"part = cache.begin(StoredObject('gs://b/1.tar', 1, {SIZE}, 0)); part.write_at(0, b'half')\n"
        f"other = cache.begin(StoredObject('gs://b/2.tar', 1, {SIZE}, 0)).finish()\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert cache.used() == 2 * SIZE
    assert cache.hold(stored(1)) is None
    put(cache, 3)
    assert cache.used() == 2 * SIZE  # the half of object 1 went when room was made
    put(cache, 1, b"z" * SIZE)
    held = cache.hold(stored(1))
    assert held is not None
    assert held.path.read_bytes() == b"z" * SIZE


def test_files_of_others_are_let_be(cache: ObjectCache, tmp_path: Path) -> None:
    (tmp_path / "cache" / "notes.txt").write_text("mine")
    for number in range(5):
        put(cache, number)
    assert (tmp_path / "cache" / "notes.txt").read_text() == "mine"
    assert cache.used() == 3 * SIZE


@pytest.mark.parametrize("wrong", [{"bytes": 0}, {"parallel_downloads": 0}])
def test_configurations_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        CacheConfig(**wrong)  # type: ignore[arg-type]
