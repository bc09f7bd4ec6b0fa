"""When the stream needs which shard."""

import numpy as np
import pytest

from trainer.data.order import Order
from trainer.data.snapshot import Rows
from trainer.data.visits import Visit, check_room, epoch_visits, most_at_once, shard_bytes, visits_from
from trainer.errors import ConfigError


def order(window: int, count: int = 200, shards: int = 10) -> Order:
    shard = np.arange(count, dtype=np.int32) * shards // count
    return Order(rows_count=count, seed=3, class_ids=np.zeros(count, np.int64), shard=shard,
                 shuffle_window_shards=window)  # fmt: skip


@pytest.mark.parametrize("window", [0, 1, 3])
@pytest.mark.parametrize("start", [0, 137, 200, 463])
def test_visits_are_what_reading_the_stream_needs(window: int, start: int) -> None:
    of = order(window)
    found = visits_from(of, start, 700)
    for epoch in range(start // 200, 4):
        _, samples = of.at(epoch * 200, 200)
        begin, end = max(start, epoch * 200), min(700, epoch * 200 + 200)
        needed = [(position, int(of.shard[samples[position - epoch * 200]])) for position in range(begin, end)]
        files = dict.fromkeys(file for _, file in needed)
        for file in files:
            positions = [position for position, needs in needed if needs == file]
            assert next(found) == Visit(file, positions[0], positions[-1])
    assert next(found, None) is None


def test_a_stream_without_an_end_has_visits_without_an_end() -> None:
    found = visits_from(order(1), 0, None)
    assert [next(found).first // 200 for _ in range(35)][-1] == 3


def test_one_window_after_the_other_is_needed() -> None:
    visits = epoch_visits(order(2), 0, 0)
    sizes = np.full(10, 100)
    assert most_at_once(visits, sizes, 0) == 200
    assert most_at_once(visits, sizes, 5) == 400  # a batch may need the end of one and the beginning of the next
    assert most_at_once(epoch_visits(order(0), 0, 0), sizes, 5) == 1000


def test_a_shard_needed_again_before_it_went_counts_once() -> None:
    assert most_at_once([Visit(0, 0, 9), Visit(0, 10, 19), Visit(1, 15, 19)], np.array([7, 5]), 4) == 12


def test_a_cache_that_cannot_hold_what_is_read_at_a_time_is_refused(rows: Rows) -> None:
    sizes = shard_bytes(rows)
    of = Order(rows_count=48, seed=5, class_ids=rows.class_ids, shard=rows.shard, shuffle_window_shards=1)
    check_room(rows, of, int(sizes.sum()), 0, 16)
    with pytest.raises(
        ConfigError, match=r"data\.cache\.bytes: .* MB of the cache, and the shards that it reads at a time have"
    ):
        check_room(rows, of, int(sizes.max()) - 1, 0, 1)
    everything = Order(rows_count=48, seed=5, class_ids=rows.class_ids, shard=rows.shard)
    check_room(rows, everything, int(sizes.sum()), 0, 16)
    with pytest.raises(ConfigError, match=r"set data\.shuffle_window_shards"):
        check_room(rows, everything, int(sizes.sum()) - 1, 0, 16)
