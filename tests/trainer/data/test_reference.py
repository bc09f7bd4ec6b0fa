"""The native extension and its Python reference compute the same samples; Pillow agrees within its rounding."""

import functools
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from jpeg_files import SAMPLINGS, photograph, picture, sampled_jpeg
from trainer.data import native, reference

SIZES = [(1, 1), (7, 300), (33, 20), (160, 120), (301, 203), (700, 500)]
OWN = sorted(set(SAMPLINGS) - {"4:1:1"})
"""Samplings that the own decoder reads."""

Box = tuple[float, float, float, float]
Case = tuple[int, str, Box, int, bool]


@functools.cache
def content(number: int, sampling: str) -> bytes:
    width, height = SIZES[number]
    return sampled_jpeg(picture(number, width, height), sampling)


class Native:
    """One file and one thread, for one sample at a time."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "picture.jpg"
        self.pool = native.open_pool(1)

    def sample(
        self, content: bytes, box: Box, out: Any, *, exact: bool, flip: bool = False,
        channels_last: bool = False, normalisation: native.Normalisation | None = None,
    ) -> None:  # fmt: skip
        self.path.write_bytes(content)
        places = native.Places(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([len(content)]))
        cuts = native.Cuts(np.zeros((1, 2), np.int32), np.array([box]), np.array([flip], np.uint8))
        status = np.full(1, 255, np.uint8)
        ticket = native.submit(
            self.pool, native.open_reader([self.path]), places, cuts, out[None], status,
            exact=exact, channels_last=channels_last, normalisation=normalisation,
        )  # fmt: skip
        native.wait(ticket)
        assert native.STATUSES[status[0]] == "ok"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Native]:
    maker = Native(tmp_path_factory.mktemp("native"))
    yield maker
    maker.pool.close()


@pytest.fixture(scope="module")
def fallback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Native]:
    """One whose pictures libjpeg decodes, as those that the own decoder does not read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERNIGHT_DECODER", "libjpeg")
        maker = Native(tmp_path_factory.mktemp("fallback"))
        maker.sample(content(2, "grey"), (0.0, 0.0, 8.0, 8.0), np.empty((3, 8, 8), np.uint8), exact=False)
    yield maker
    maker.pool.close()


@st.composite
def cases(draw: st.DrawFn, samplings: list[str]) -> Case:
    number = draw(st.integers(0, len(SIZES) - 1))
    width, height = SIZES[number]
    share = st.floats(0.02, 1.0)
    w, h = max(width * draw(share), 0.5), max(height * draw(share), 0.5)
    left, top = (width - w) * draw(st.floats(0, 1)), (height - h) * draw(st.floats(0, 1))
    box = (left, top, min(left + w, width), min(top + h, height))
    return number, draw(st.sampled_from(samplings)), box, draw(st.integers(1, 70)), draw(st.booleans())


FAST = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FAST
@given(cases(sorted(SAMPLINGS)))
def test_exact_samples_are_the_reference(one: Native, case: Case) -> None:
    number, sampling, box, size, flip = case
    out = np.empty((3, size, size), np.float32)
    one.sample(content(number, sampling), box, out, exact=True, flip=flip)
    expected = reference.reference_sample(content(number, sampling), box, size, flip=flip)
    assert np.abs(out * 255 - expected).mean() <= 0.02
    assert np.abs(out * 255 - expected).max() <= 0.05


@FAST
@given(cases(OWN))
def test_fast_samples_are_the_planar_reference_within_fixed_point_rounding(one: Native, case: Case) -> None:
    number, sampling, box, size, flip = case
    out = np.empty((3, size, size), np.float32)
    one.sample(content(number, sampling), box, out, exact=False, flip=flip)
    expected = reference.planar_sample(content(number, sampling), box, size, flip=flip)
    error = np.abs(out * 255 - expected)
    # Each product is rounded to 1/64, so what averages over more samples errs more.
    ratio = max(box[2] - box[0], box[3] - box[1]) / size
    assert error.mean() <= 0.025 + ratio / 400
    assert error.max() <= 0.3 + ratio / 100


@FAST
@given(cases(sorted(SAMPLINGS)))
def test_the_fallbacks_fast_samples_are_close_to_the_reference(fallback: Native, case: Case) -> None:
    number, sampling, box, size, flip = case
    out = np.empty((3, size, size), np.float32)
    fallback.sample(content(number, sampling), box, out, exact=False, flip=flip)
    expected = reference.reference_sample(content(number, sampling), box, size, flip=flip)
    error = np.abs(out * 255 - expected).mean()
    longer, shorter = sorted((box[2] - box[0], box[3] - box[1]), reverse=True)
    if longer < 4 * size:  # at most eight taps an axis, nothing scaled in the DCT
        assert error <= 0.03
    elif shorter < 4 * size:  # one axis averages over many samples, each product rounded
        assert error <= 0.3
    elif size >= 16:  # below, what the DCT scales hardly has more pixels than blocks
        # Noise of single pixels, which the box filter of the DCT and the triangle weigh differently: at most 7.6 grey
        # levels in 9,320 boxes of these pictures, where a chroma axis is scaled by little more than the DCT does it.
        assert error <= 8


def test_on_noise_the_fallbacks_dct_scaling_is_off_by_about_one_grey_level(fallback: Native) -> None:
    errors = []
    for number in (4, 5):
        width, height = SIZES[number]
        for sampling in sorted(SAMPLINGS):
            for size in range(16, min(width, height) // 4 + 1, 3):
                out = np.empty((3, size, size), np.float32)
                box = (0.0, 0.0, float(width), float(height))
                fallback.sample(content(number, sampling), box, out, exact=False)
                expected = reference.reference_sample(content(number, sampling), box, size)
                errors.append(np.abs(out * 255 - expected).mean())
    assert np.mean(errors) <= 1.5
    assert np.percentile(errors, 90) <= 3.5


@functools.cache
def photographic(sampling: str) -> bytes:
    return sampled_jpeg(photograph(3, 1200, 800), sampling)


def mean_error(maker: Native, sampling: str, boxes: list[Box], *, exact: bool = False) -> float:
    errors = []
    for box in boxes:
        out = np.empty((3, 224, 224), np.float32)
        maker.sample(photographic(sampling), box, out, exact=exact)
        errors.append(np.abs(out * 255 - reference.reference_sample(photographic(sampling), box, 224)).mean())
    return float(np.mean(errors))


UNSCALED = [(101.5, 37.0, 540.0, 333.3), (640.0, 411.2, 1063.0, 780.0), (3.0, 100.0, 330.0, 540.0)]
SCALED = [(0.0, 0.0, 1200.0, 800.0), (101.0, 37.0, 1001.0, 597.0), (333.3, 111.1, 950.0, 640.0)]


@pytest.mark.parametrize("sampling", ["4:2:0", "4:4:4", "4:2:2", "grey"])
def test_photographs_stay_within_the_promised_distance_of_full_decoding(one: Native, sampling: str) -> None:
    assert mean_error(one, sampling, UNSCALED) <= 0.4
    assert mean_error(one, sampling, SCALED) <= 0.5
    assert mean_error(one, sampling, UNSCALED[:1] + SCALED[:1], exact=True) <= 0.02


@pytest.mark.parametrize("sampling", ["4:2:0", "4:4:4", "4:2:2", "grey"])
@pytest.mark.parametrize("size", [48, 127])
def test_small_targets_too_wherever_the_dct_begins_to_scale(one: Native, sampling: str, size: int) -> None:
    """Each box by itself: just above a scale's threshold is where a mean over many boxes hides the most."""
    side = size * 16 // 3
    picture = sampled_jpeg(photograph(3, side, side), sampling)
    for ratio in (1.5, 2.05, 2.5, 3.2, 3.9, 4.05, 4.5, 5.3):
        box = (1.3, 0.4, 1.3 + ratio * size, 0.4 + ratio * size)
        out = np.empty((3, size, size), np.float32)
        one.sample(picture, box, out, exact=False)
        assert np.abs(out * 255 - reference.reference_sample(picture, box, size)).mean() <= 0.4


@pytest.mark.parametrize("sampling", ["4:2:0", "4:1:1"])
def test_the_fallback_stays_within_the_promised_distance_too(fallback: Native, sampling: str) -> None:
    assert mean_error(fallback, sampling, UNSCALED) <= 0.02
    assert mean_error(fallback, sampling, SCALED) <= 0.5


@pytest.mark.parametrize("exact", [True, False])
def test_bytes_are_the_float_samples_rounded(one: Native, exact: bool) -> None:
    box = (10.0, 5.0, 141.0, 110.0)
    sample = np.empty((3, 48, 48), np.float32)
    rounded = np.empty((3, 48, 48), np.uint8)
    one.sample(content(3, "4:2:0"), box, sample, exact=exact)
    one.sample(content(3, "4:2:0"), box, rounded, exact=exact)
    values = sample.astype(np.float64) * 255
    tie = np.abs(values % 1 - 0.5) < 1e-3
    np.testing.assert_array_equal(rounded[~tie], reference.as_bytes(values)[~tie])
    assert np.abs(rounded - values).max() < 0.501


def of_every_number(maker: Native, box: Box, size: int, *, exact: bool, last: bool) -> dict[str, NDArray[Any]]:
    """One sample in each number type, as uint8 or float32 that holds the same values; channels first."""
    normalisation = native.Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    shape = (size, size, 3) if last else (3, size, size)
    made = {}
    for name in ("uint8", "float32", "float16", "bfloat16"):
        out: Any = torch.empty(shape, dtype=torch.bfloat16) if name == "bfloat16" else np.empty(shape, name)
        maker.sample(
            content(4, "4:2:0"), box, out, exact=exact, flip=True, channels_last=last, normalisation=normalisation
        )
        values = out.float().numpy() if name == "bfloat16" else out
        made[name] = values.transpose(2, 0, 1) if last else values
    return made


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("path", ["own", "fallback"])
@pytest.mark.parametrize("size", [37, 64])
def test_every_number_and_layout_holds_the_same_sample(
    one: Native, fallback: Native, exact: bool, path: str, size: int
) -> None:
    maker, box = (one if path == "own" else fallback), (10.0, 5.0, 290.5, 200.0)
    first = of_every_number(maker, box, size, exact=exact, last=False)
    last = of_every_number(maker, box, size, exact=exact, last=True)
    for name, values in first.items():
        np.testing.assert_array_equal(last[name], values)
    np.testing.assert_array_equal(first["float16"], first["float32"].astype(np.float16))
    np.testing.assert_array_equal(first["bfloat16"], torch.from_numpy(first["float32"].copy()).bfloat16().float())


def test_normalisation_is_by_channel(one: Native) -> None:
    normalisation = native.Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    box = (0.0, 0.0, 160.0, 120.0)
    out = np.empty((3, 32, 32), np.float32)
    one.sample(content(3, "4:2:0"), box, out, exact=True, normalisation=normalisation)
    expected = reference.normalised(reference.reference_sample(content(3, "4:2:0"), box, 32), normalisation)
    np.testing.assert_allclose(out, expected, atol=1e-3)


def test_a_flip_mirrors_the_sample(one: Native) -> None:
    box = (3.0, 4.0, 150.0, 110.0)
    plain, mirrored = np.empty((3, 40, 40), np.uint8), np.empty((3, 40, 40), np.uint8)
    one.sample(content(3, "4:4:4"), box, plain, exact=False)
    one.sample(content(3, "4:4:4"), box, mirrored, exact=False, flip=True)
    np.testing.assert_array_equal(mirrored, plain[:, :, ::-1])


def test_the_reference_is_pillows_resize_of_a_box_within_its_rounding() -> None:
    box = (10.5, 5.25, 271.0, 190.0)
    image = Image.open(io.BytesIO(content(4, "4:2:0")))
    pillow = np.asarray(image.resize((64, 64), Image.Resampling.BILINEAR, box=box)).transpose(2, 0, 1)
    assert np.abs(reference.reference_sample(content(4, "4:2:0"), box, 64) - pillow).mean() <= 0.4


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("path", ["own", "fallback"])
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:0", "grey"])
def test_a_flat_picture_stays_flat(one: Native, fallback: Native, exact: bool, path: str, sampling: str) -> None:
    flat = sampled_jpeg(np.full((300, 400, 3), 255, np.uint8), sampling)
    out = np.empty((3, 33, 33), np.uint8)
    (one if path == "own" else fallback).sample(flat, (0.3, 0.7, 399.1, 299.9), out, exact=exact)
    assert out.min() == 255


@pytest.mark.parametrize("path", ["own", "fallback"])
@pytest.mark.parametrize("sampling", ["4:2:0", "grey"])
def test_white_stays_white_where_thousands_of_rounded_products_add_up(
    one: Native, fallback: Native, path: str, sampling: str
) -> None:
    flat = sampled_jpeg(np.full((1600, 2400, 3), 255, np.uint8), sampling)
    for size in (1, 2, 3, 5):
        out = np.empty((3, size, size), np.uint8)
        (one if path == "own" else fallback).sample(flat, (0.0, 0.0, 2400.0, 1600.0), out, exact=False)
        assert out.min() >= 252
