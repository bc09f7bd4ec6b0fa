"""Samples that cannot be decoded: stopped at, replaced by the same substitutes everywhere, counted, budgeted."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jpeg_files import jpeg, picture
from loading import all_batches, eval_loader, joined, same, train_loader
from snapshot_files import member, rows_of
from trainer.data import native
from trainer.data.loader import BadSamplePolicy
from trainer.data.samples import substitute
from trainer.data.snapshot import Rows
from trainer.errors import BadSampleError, ConfigError

SKIP = BadSamplePolicy("skip", budget=10)


BAD = {3: (member(3).content[:-300], "truncated"), 8: (b"", "empty"), 13: (b"hello", "not-a-jpeg"),
       20: (jpeg(picture(20, 10, 10)), "wrong-size")}  # fmt: skip


@pytest.fixture
def damaged(tmp_path: Path) -> Rows:
    members = [member(number, BAD[number][0] if number in BAD else None) for number in range(24)]
    return rows_of(tmp_path, [members[::2], members[1::2]])


def test_the_policy_raise_names_key_shard_offset_and_reason(damaged: Rows) -> None:
    with train_loader(damaged) as loader, pytest.raises(BadSampleError) as caught:
        list(loader)
    sentence = caught.value.sentence
    number = int(sentence.split("sample k/")[1][:4])
    assert number in BAD
    assert f"is {BAD[number][1]}" in sentence
    assert f"shard-{number % 2:06d}.tar, offset {damaged.offset[number]}" in sentence


def test_the_policy_skip_replaces_counts_and_reports(damaged: Rows) -> None:
    with train_loader(damaged, steps=(0, 9), policy=SKIP) as loader:
        batches = [(batch.images.shape, batch.images.min(axis=(1, 2, 3)), batch.images.std(axis=(1, 2, 3)))
                   for batch in loader]  # fmt: skip
        found = {bad.key: bad for bad in loader.bad_samples}
    assert len(batches) == 9
    assert all(shape == (8, 3, 32, 32) for shape, _, _ in batches)
    assert all((deviation > 0).all() for _, _, deviation in batches)
    assert {key: bad.reason for key, bad in found.items()} == {f"k/{n:04d}": reason for n, (_, reason) in BAD.items()}
    assert found["k/0008"].offset == damaged.offset[8]
    assert found["k/0008"].shard == damaged.paths[0]


def test_a_substitute_brings_its_own_label_and_the_plan_stays(damaged: Rows) -> None:
    for batch in all_batches(train_loader(damaged, steps=(0, 9), policy=SKIP)):
        np.testing.assert_array_equal(np.bincount(batch.samples, minlength=24) <= 2, True)
        for i, sample in enumerate(batch.samples.tolist()):
            used, attempt = sample, 0
            while used in BAD:
                used = substitute(5, int(batch.epochs[i]), sample, attempt, 24)
                attempt += 1
            assert batch.class_ids[i] == damaged.class_ids[used]


@pytest.mark.parametrize(("world_size", "threads"), [(1, 1), (2, 3), (4, 2)])
def test_substitutes_do_not_depend_on_workers_or_threads(damaged: Rows, world_size: int, threads: int) -> None:
    expected = all_batches(train_loader(damaged, policy=SKIP))
    parts = [
        all_batches(train_loader(damaged, policy=SKIP, rank=rank, world_size=world_size, threads=threads))
        for rank in range(world_size)
    ]
    for step, whole in enumerate(expected):
        assert same(joined([part[step] for part in parts]), whole)


@pytest.mark.parametrize(("budget", "stops"), [(3, True), (4, False)])
def test_one_bad_sample_beyond_the_budget_stops_the_run(damaged: Rows, budget: int, stops: bool) -> None:
    with train_loader(damaged, steps=(0, 12), policy=BadSamplePolicy("skip", budget)) as loader:
        if stops:
            with pytest.raises(BadSampleError, match="one more bad sample than the budget of 3"):
                list(loader)
        else:
            assert len(list(loader)) == 12
            assert len(loader.bad_samples) == 4


def test_a_data_set_of_bad_samples_only_stops_in_one_sentence(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [[member(number, b"nothing") for number in range(4)]])
    with train_loader(rows, policy=SKIP) as loader, pytest.raises(BadSampleError, match="substitutes"):
        next(loader)


def test_evaluation_stops_at_a_bad_sample_or_leaves_it_out(damaged: Rows) -> None:
    with eval_loader(damaged) as loader, pytest.raises(BadSampleError, match="k/0003"):
        list(loader)
    with eval_loader(damaged, policy=SKIP) as loader:
        batches = [(batch.images.shape[0], batch.indices) for batch in loader]
        assert [bad.key for bad in loader.bad_samples] == ["k/0003", "k/0008", "k/0013", "k/0020"]
    assert np.concatenate([indices for _, indices in batches]).tolist() == [n for n in range(24) if n not in BAD]
    assert sum(count for count, _ in batches) == 20


def test_a_shard_that_vanishes_is_unreadable(damaged: Rows) -> None:
    Path(damaged.paths[0]).unlink()
    with train_loader(damaged) as loader, pytest.raises(BadSampleError, match="unreadable"):
        list(loader)


def test_a_shard_that_ends_early_is_truncated(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [[member(number) for number in range(8)]])
    Path(rows.paths[0]).write_bytes(Path(rows.paths[0]).read_bytes()[:3000])
    with train_loader(rows) as loader, pytest.raises(BadSampleError, match="truncated"):
        list(loader)


def test_bit_flips_anywhere_in_a_shard_end_in_batches_or_a_sentence(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, [[member(number) for number in range(16)]])
    shard, rng = Path(rows.paths[0]), np.random.default_rng(2)
    original = shard.read_bytes()
    for _ in range(15):
        damaged = bytearray(original)
        for at in rng.integers(0, len(original), 40):
            damaged[at] ^= 1 << rng.integers(0, 8)
        shard.write_bytes(damaged)
        assert len(all_batches(train_loader(rows, steps=(0, 4), policy=BadSamplePolicy("skip", 1000)))) == 4


def test_twenty_thousand_bad_files_leave_memory_flat(resident_bytes: Callable[[], int], tmp_path: Path) -> None:
    good = jpeg(picture(1, 64, 64))
    kinds = [good[:-100], good[: len(good) // 2], b"", b"RIFF0000WEBP", good.replace(b"\xff\xc4", b"\xff\xc9", 1)]
    kinds.append(jpeg(picture(1, 64, 64), progressive=True)[:700])
    path = tmp_path / "bad"
    path.write_bytes(b"".join(kinds))
    ends = np.cumsum([len(kind) for kind in kinds])
    which = np.arange(2000) % len(kinds)
    size = np.array([len(kind) for kind in kinds])[which]
    places = native.Places(np.zeros(2000, np.int32), (ends - [len(kind) for kind in kinds])[which], size)
    cuts = native.Cuts(np.zeros((2000, 2), np.int32), np.tile([0.0, 0, 64, 64], (2000, 1)), np.zeros(2000, np.uint8))
    out, statuses = np.empty((2000, 3, 8, 8), np.uint8), np.empty(2000, np.uint8)
    pool, reader = native.open_pool(2), native.open_reader([path])
    marks = []
    for _ in range(10):
        native.wait(native.submit(pool, reader, places, cuts, out, statuses, exact=False))
        assert statuses.all()
        assert not out.any()
        marks.append(resident_bytes())
    pool.close()
    assert marks[-1] <= marks[1] * 1.01


def test_policies_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="raise or skip"):
        BadSamplePolicy("ignore")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="budget"):
        BadSamplePolicy("skip", -1)
