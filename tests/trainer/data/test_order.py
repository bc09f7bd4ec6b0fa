"""The stream of samples: each once an epoch, the same for any number of workers, from any step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.data.order import Order, Sampling, digest, permutation, windowed_permutation, worker_slice
from trainer.errors import ConfigError


def order(count: int, seed: int = 1, sampling: Sampling = "uniform", window: int = 0, shards: int = 7) -> Order:
    numbers = np.arange(count)
    return Order(
        rows_count=count,
        seed=seed,
        sampling=sampling,
        class_ids=(numbers % 11 % 3).astype(np.int64),
        shard=(numbers * shards // count).astype(np.int32),
        shuffle_window_shards=window,
    )


@given(st.integers(1, 200), st.integers(-(2**63), 2**64), st.integers(0, 3), st.integers(0, 1000))
def test_each_sample_comes_once_an_epoch(count: int, seed: int, window: int, epoch: int) -> None:
    epochs, samples = order(count, seed, window=window).at(epoch * count, count)
    assert sorted(samples) == list(range(count))
    assert set(epochs) == {epoch}


@given(st.integers(1, 150), st.integers(1, 40), st.integers(0, 30), st.sampled_from(["uniform", "balanced"]))
def test_the_stream_is_the_same_from_any_position(count: int, length: int, start: int, sampling: Sampling) -> None:
    epochs, samples = order(count, sampling=sampling).at(0, start + length)
    later_epochs, later = order(count, sampling=sampling).at(start, length)
    np.testing.assert_array_equal(later, samples[start:])
    np.testing.assert_array_equal(later_epochs, epochs[start:])


@given(st.integers(1, 100), st.sampled_from([1, 2, 3, 4, 6, 12]), st.integers(0, 20))
def test_the_workers_together_take_the_global_batch(count: int, world_size: int, step: int) -> None:
    stream = order(count)
    whole = stream.at(step * 12, 12)[1]
    parts = [stream.at(*worker_slice(step, 12, rank, world_size))[1] for rank in range(world_size)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert {len(part) for part in parts} == {12 // world_size}


def test_there_may_be_fewer_shards_than_workers() -> None:
    stream = order(5, shards=1, window=1)
    parts = [stream.at(*worker_slice(0, 8, rank, 8))[1] for rank in range(8)]
    assert sorted(np.concatenate(parts)[:5]) == [0, 1, 2, 3, 4]


def test_a_step_may_straddle_epochs_and_span_several() -> None:
    epochs, samples = order(5).at(3, 14)
    assert list(epochs) == [0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3]
    assert sorted(samples[2:7]) == sorted(samples[7:12]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("window", [0, 2])
def test_every_epoch_and_seed_has_an_order_of_its_own(window: int) -> None:
    orders = {tuple(order(50, seed, window=window).at(epoch * 50, 50)[1]) for seed in range(5) for epoch in range(20)}
    assert len(orders) == 100


def test_the_order_is_pinned_for_ever() -> None:
    assert list(permutation(8, seed=7, epoch=3)) == [0, 3, 7, 1, 6, 4, 2, 5]
    _, samples = order(1000, seed=5).at(1500, 100)
    assert digest(np.ones(100), samples)[:16] == "ea0c33fa061a4eb3"


def test_samples_move_as_far_as_in_a_fair_shuffle() -> None:
    count = 20_000
    moved = np.abs(permutation(count, 3, 0) - np.arange(count)) / count
    assert abs(moved.mean() - 1 / 3) < 0.01
    assert abs(np.median(moved) - (1 - np.sqrt(0.5))) < 0.01


def test_neighbours_in_one_epoch_are_not_neighbours_in_the_next() -> None:
    first, second = permutation(5000, 3, 0), permutation(5000, 3, 1)
    place = np.argsort(second)
    assert (np.abs(np.diff(place[first])) <= 2).mean() < 0.01


def test_a_window_reads_few_shards_at_a_time_and_mixes_them() -> None:
    shard = np.repeat(np.arange(10, dtype=np.int32), 100)
    samples = windowed_permutation(shard, seed=2, epoch=0, window=3)
    for start in range(0, 900, 300):
        assert len(set(shard[samples[start : start + 300]])) == 3
    runs = np.diff(shard[samples[:300]]) == 0
    assert runs.mean() < 0.45


def test_the_order_of_shards_changes_every_epoch() -> None:
    shard = np.repeat(np.arange(10, dtype=np.int32), 4)
    orders = {tuple(shard[windowed_permutation(shard, 2, epoch, 1)][::4]) for epoch in range(20)}
    assert len(orders) == 20


def test_balanced_sampling_draws_every_class_equally_often() -> None:
    class_ids = np.array([0] * 90 + [1] * 9 + [4] * 2, dtype=np.int64)
    stream = Order(
        rows_count=101, seed=1, sampling="balanced", class_ids=class_ids, shard=np.zeros(101, dtype=np.int32)
    )
    extra = np.zeros(5, dtype=int)
    for epoch in range(60):
        samples = stream.at(epoch * 101, 101)[1]
        counts = np.bincount(class_ids[samples], minlength=5)
        assert set(counts[[0, 1, 4]]) <= {33, 34}
        assert counts[[2, 3]].sum() == 0
        rare = np.bincount(samples, minlength=101)[99:]
        assert abs(rare[0] - rare[1]) <= 1
        extra += counts
    assert np.ptp(extra[[0, 1, 4]]) < 40


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 20))
def test_balanced_sampling_is_a_function_of_seed_and_epoch(count: int, epoch: int) -> None:
    first = order(count, sampling="balanced").at(epoch * count, count)[1]
    stream = order(count, sampling="balanced")
    stream.at(0, 3 * count)
    np.testing.assert_array_equal(stream.at(epoch * count, count)[1], first)


def test_the_digest_tells_sequences_apart() -> None:
    epochs, samples = np.zeros(3, np.int64), np.array([1, 2, 3])
    assert digest(epochs, samples) == digest(epochs.copy(), samples.astype(np.int32))
    assert digest(epochs, samples) != digest(epochs, samples[::-1])
    assert digest(epochs, samples) != digest(epochs + 1, samples)


def test_only_two_epochs_stay_in_memory() -> None:
    stream = order(100)
    for epoch in range(50):
        stream.at(epoch * 100 + 60, 80)
    assert len(stream._epochs) == 2


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"rows_count": 0, "class_ids": np.zeros(0, np.int64), "shard": np.zeros(0, np.int32)}, "no samples"),
        ({"class_ids": np.zeros(4, np.int64)}, "5 elements"),
        ({"sampling": "fair"}, "uniform or balanced"),
        ({"shuffle_window_shards": -1}, "0 or more"),
        ({"sampling": "balanced", "shuffle_window_shards": 2}, "set it to 0"),
    ],
)
def test_fields_that_do_not_fit_together_are_refused(change: dict[str, object], word: str) -> None:
    fields: dict[str, object] = {
        "rows_count": 5, "seed": 1, "class_ids": np.zeros(5, np.int64), "shard": np.zeros(5, np.int32)
    }  # fmt: skip
    with pytest.raises(ConfigError, match=word):
        Order(**{**fields, **change})  # type: ignore[arg-type]


@pytest.mark.parametrize(("batch", "rank", "world"), [(10, 0, 3), (8, 2, 2), (8, -1, 2), (0, 0, 1)])
def test_workers_must_divide_the_batch(batch: int, rank: int, world: int) -> None:
    with pytest.raises(ConfigError):
        worker_slice(0, batch, rank, world)
