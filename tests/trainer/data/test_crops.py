"""Boxes and flips: inside the picture, of the shares asked for, functions of (seed, epoch, sample)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.data.crops import CropConfig, evaluation_boxes, random_boxes, random_flips
from trainer.errors import ConfigError

sides = st.integers(1, 3000)


def sized(width: int, height: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(count, width, np.int32), np.full(count, height, np.int32)


@given(sides, sides, st.integers(0, 2**64 - 1), st.floats(0.01, 1), st.integers(0, 100))
def test_random_boxes_are_whole_pixels_inside_the_picture(
    width: int, height: int, seed: int, scale_min: float, epoch: int
) -> None:
    config = CropConfig(scale_min=scale_min)
    boxes = random_boxes(config, seed, np.full(50, epoch), np.arange(50), *sized(width, height, 50))
    assert (boxes == np.rint(boxes)).all()
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2] > boxes[:, 0]).all()
    assert (boxes[:, 3] > boxes[:, 1]).all()
    assert (boxes[:, 2] <= width).all()
    assert (boxes[:, 3] <= height).all()


def test_areas_and_ratios_are_spread_as_asked() -> None:
    count = 20_000
    config = CropConfig(scale_min=0.08, scale_max=0.5)
    boxes = random_boxes(config, 3, np.zeros(count, np.int64), np.arange(count), *sized(800, 800, count))
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    area, ratio = width * height / 640_000, width / height
    assert 0.078 < area.min() < 0.09
    assert 0.49 < area.max() < 0.502
    assert abs(area.mean() - 0.29) < 0.005
    assert abs(np.log(ratio).mean()) < 0.005
    assert ratio.min() > 0.74
    assert ratio.max() < 1.34
    centre = (boxes[:, 0] + boxes[:, 2]) / 2
    assert abs(centre.mean() - 400) < 5


@pytest.mark.parametrize(
    ("width", "height", "expected"), [(1000, 100, (433, 0, 566, 100)), (60, 600, (0, 260, 60, 340))]
)
def test_a_picture_too_narrow_gives_its_largest_centred_crop(
    width: int, height: int, expected: tuple[int, ...]
) -> None:
    config = CropConfig(scale_min=1.0)
    boxes = random_boxes(config, 0, np.zeros(5, np.int64), np.arange(5), *sized(width, height, 5))
    assert {tuple(box) for box in boxes.tolist()} == {expected}


def test_a_box_depends_on_its_own_sample_alone() -> None:
    epochs, samples = np.repeat(np.arange(4), 25), np.tile(np.arange(25), 4)
    width, height = (np.tile(side, 4).astype(np.int32) for side in (np.arange(25) + 50, np.arange(25) + 60))
    together = random_boxes(CropConfig(), 9, epochs, samples, width, height)
    for i in range(100):
        one = slice(i, i + 1)
        alone = random_boxes(CropConfig(), 9, epochs[one], samples[one], width[one], height[one])
        np.testing.assert_array_equal(alone, together[one])
    assert len({tuple(box) for box in together.tolist()}) > 90


def test_half_of_the_samples_are_mirrored_anew_each_epoch() -> None:
    samples = np.arange(10_000)
    first, second = (random_flips(CropConfig(), 1, np.full(10_000, epoch), samples) for epoch in (0, 1))
    assert abs(first.mean() - 0.5) < 0.02
    assert abs((first != second).mean() - 0.5) < 0.02
    assert random_flips(CropConfig(flip=False), 1, samples, samples).sum() == 0


@given(sides, sides, st.integers(1, 400), st.integers(0, 200))
def test_the_evaluation_box_is_the_centre_of_the_resized_picture(width: int, height: int, size: int, more: int) -> None:
    (box,) = evaluation_boxes(*sized(width, height, 1), size, size + more)
    left, top, right, bottom = box
    scale = (size + more) / min(width, height)
    assert (right - left) * scale == pytest.approx(size)
    assert (bottom - top) * scale == pytest.approx(size)
    assert left + right == pytest.approx(width)
    assert top + bottom == pytest.approx(height)
    assert min(left, top) >= -1e-9


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="scale_min"):
        CropConfig(scale_min=0)
    with pytest.raises(ConfigError, match="ratio_min"):
        CropConfig(ratio_min=2, ratio_max=1)
    with pytest.raises(ConfigError, match="resize_shorter_side"):
        evaluation_boxes(*sized(10, 10, 1), 64, 60)
