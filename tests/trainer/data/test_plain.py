"""The loader without native code gives the same stream, nearly the same pixels, and works in the training process."""

from dataclasses import replace

import numpy as np
import pytest

from loading import all_batches, train_loader
from trainer.data.crops import CropConfig
from trainer.data.loader import BadSamplePolicy
from trainer.data.order import Order
from trainer.data.plain import PlainLoader
from trainer.data.snapshot import Rows
from trainer.errors import BadSampleError


def plain_loader(rows: Rows, policy: BadSamplePolicy | None = None) -> PlainLoader:
    """The arguments of `train_loader`."""
    order = Order(rows_count=len(rows), seed=5, class_ids=rows.class_ids, shard=rows.shard)
    return PlainLoader(
        rows, order=order, batch_size=8, rank=0, world_size=1, size_at=lambda _: 32, crop=CropConfig(), seed=5,
        threads=1, start_step=0, stop_step=10, policy=policy or BadSamplePolicy(),
    )  # fmt: skip


def test_the_stream_is_the_native_loaders_and_the_pixels_are_close(rows: Rows) -> None:
    native, plain = all_batches(train_loader(rows)), all_batches(plain_loader(rows))
    assert len(native) == len(plain) == 10
    for left, right in zip(native, plain, strict=True):
        for name in ("step", "class_ids", "samples", "epochs"):
            np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
        assert np.abs(left.images.astype(int) - right.images).mean() < 1.5


def test_bad_samples_are_met_by_the_same_policy(rows: Rows) -> None:
    size = rows.size.copy()
    size[::7] = 20
    broken = replace(rows, size=size)
    with pytest.raises(BadSampleError, match="corrupt"):
        all_batches(plain_loader(broken))
    policy = BadSamplePolicy("skip", 10)
    for left, right in zip(
        all_batches(train_loader(broken, policy=policy)), all_batches(plain_loader(broken, policy)), strict=True
    ):
        np.testing.assert_array_equal(left.class_ids, right.class_ids)
