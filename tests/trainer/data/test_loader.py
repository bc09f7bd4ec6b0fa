"""The loaders: the stream of the order, the same pixels for any threads and workers, from any step, in flat memory."""

import gc
import random
from collections.abc import Callable

import numpy as np
import pytest

from loading import all_batches, eval_loader, joined, same, train_loader
from trainer.data import reference
from trainer.data.crops import evaluation_boxes
from trainer.data.order import Order
from trainer.data.snapshot import Rows, Snapshot
from trainer.errors import ConfigError


def content(rows: Rows, i: int) -> bytes:
    with open(rows.paths[rows.shard[i]], "rb") as shard:  # noqa: PTH123
        shard.seek(int(rows.offset[i]))
        return shard.read(int(rows.size[i]))


@pytest.mark.parametrize(("threads", "depth"), [(1, 2), (2, 3), (5, 4)])
def test_batches_do_not_depend_on_threads_or_depth(rows: Rows, threads: int, depth: int) -> None:
    expected = all_batches(train_loader(rows))
    found = all_batches(train_loader(rows, threads=threads, depth=depth))
    assert len(found) == 10
    assert all(same(left, right) for left, right in zip(expected, found, strict=True))


@pytest.mark.parametrize("world_size", [2, 4, 8])
def test_the_workers_batches_are_slices_of_one_global_batch(rows: Rows, world_size: int) -> None:
    expected = all_batches(train_loader(rows))
    parts = [all_batches(train_loader(rows, rank=rank, world_size=world_size)) for rank in range(world_size)]
    assert {len(part) for part in parts} == {10}
    for step, whole in enumerate(expected):
        assert same(joined([part[step] for part in parts]), whole)


def test_a_resumed_loader_goes_on_with_identical_pixels_on_other_workers_and_threads(rows: Rows) -> None:
    expected = all_batches(train_loader(rows, steps=(0, 30)))
    for _ in range(5):
        step = random.randrange(30)
        with train_loader(rows, steps=(0, 30), threads=random.randint(1, 4)) as loader:
            for _ in range(step):
                next(loader)
            state = loader.state_dict()
        assert state == {"step": step, "position": step * 8}
        parts = [
            all_batches(train_loader(rows, steps=(state["step"], 30), rank=rank, world_size=2, threads=rank + 1))
            for rank in range(2)
        ]
        for offset, whole in enumerate(expected[step:]):
            assert same(joined([part[offset] for part in parts]), whole)


def test_labels_belong_to_the_samples(rows: Rows) -> None:
    for batch in all_batches(train_loader(rows)):
        np.testing.assert_array_equal(batch.class_ids, rows.class_ids[batch.samples])
        assert [int(rows.keys[i].as_py()[-4:]) % 3 for i in batch.samples] == batch.class_ids.tolist()


def test_the_size_of_pictures_may_change_from_step_to_step(rows: Rows) -> None:
    sizes = [batch.images.shape for batch in all_batches(train_loader(rows, steps=(2, 8), size=lambda s: 16 * s))]
    assert sizes == [(8, 3, 16 * step, 16 * step) for step in range(2, 8)]


def test_a_batch_stays_valid_until_the_next_is_asked_for(rows: Rows) -> None:
    expected = all_batches(train_loader(rows, steps=(0, 20)))
    with train_loader(rows, steps=(0, 20), depth=2) as loader:
        for batch, copy in zip(loader, expected, strict=True):
            assert same(batch, copy)


def test_one_batch_may_be_larger_than_the_data_set(rows: Rows) -> None:
    few = rows.take(np.arange(3))
    (batch,) = all_batches(train_loader(few, steps=(0, 1), batch_size=32))
    assert np.bincount(batch.samples).min() >= 10


def test_arguments_that_do_not_fit_together_are_refused(rows: Rows) -> None:
    with pytest.raises(ConfigError, match="workers"):
        train_loader(rows, batch_size=9, world_size=2)
    with pytest.raises(ConfigError, match="depth"):
        train_loader(rows, depth=1)
    with pytest.raises(ConfigError, match="order"):
        train_loader(rows.take(np.arange(4)), order=Order(
            rows_count=48, seed=5, class_ids=rows.class_ids, shard=rows.shard))  # fmt: skip


def test_evaluation_gives_every_row_once_and_in_order(rows: Rows) -> None:
    with eval_loader(rows, batch_size=10) as loader:
        batches = [(images.copy(), class_ids, indices) for images, class_ids, indices in loader]
        assert len(batches) == len(loader) == 5
    np.testing.assert_array_equal(np.concatenate([indices for _, _, indices in batches]), np.arange(48))
    np.testing.assert_array_equal(np.concatenate([ids for _, ids, _ in batches]), rows.class_ids)


def test_evaluation_is_the_reference_of_the_centre_crop(rows: Rows) -> None:
    boxes = evaluation_boxes(rows.width, rows.height, 32, 36)
    with eval_loader(rows) as loader:
        images = np.concatenate([batch.images.copy() for batch in loader])
    for i in range(0, 48, 5):
        sample = reference.reference_sample(content(rows, i), tuple(boxes[i]), 32)
        assert np.abs((images[i] * 0.25 + 0.5) * 255 - sample).mean() <= 0.02


@pytest.mark.parametrize(("world_size", "batch_size"), [(2, 10), (4, 4), (3, 48), (8, 64)])
def test_evaluation_by_several_workers_covers_every_row_once_with_the_same_pixels(
    rows: Rows, world_size: int, batch_size: int
) -> None:
    with eval_loader(rows) as loader:
        expected = np.concatenate([batch.images.copy() for batch in loader])
    seen = []
    for rank in range(world_size):
        with eval_loader(rows, rank=rank, world_size=world_size, batch_size=batch_size, threads=1) as loader:
            for batch in loader:
                np.testing.assert_array_equal(batch.images, expected[batch.indices])
                seen += batch.indices.tolist()
    assert sorted(seen) == list(range(48))


def test_evaluation_may_be_repeated_and_broken_off(rows: Rows) -> None:
    with eval_loader(rows) as loader:
        first = next(iter(loader)).images.copy()
        np.testing.assert_array_equal(next(iter(loader)).images, first)
        assert sum(len(batch.indices) for batch in loader) == 48


def test_an_empty_split_gives_no_batches(rows: Rows) -> None:
    with eval_loader(rows.take(np.arange(0))) as loader:
        assert list(loader) == []


def test_memory_is_flat_over_epochs(rows: Rows, resident_bytes: Callable[[], int]) -> None:
    with train_loader(rows, steps=(0, 360)) as loader:  # 60 epochs
        marks = {}
        for batch in loader:
            marks[batch.step] = resident_bytes()
    gc.collect()
    assert marks[359] <= marks[60] * 1.02


def test_opening_and_closing_loaders_leaves_nothing_behind(
    snapshot: Snapshot, resident_bytes: Callable[[], int]
) -> None:
    rows = snapshot.rows("train")
    for _ in range(10):
        train_loader(rows).close()
    before = resident_bytes()
    for _ in range(60):
        with train_loader(rows) as loader:
            next(loader)
    assert resident_bytes() <= before * 1.02
