"""Partial decoding equals decoding everything and cutting the region out."""

import io

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from jpeg_files import SAMPLINGS, encode, jpeg, patched, picture, sampled_jpeg, with_frame
from trainer._native import decode_region


def region(content: bytes, eighths: int, box: tuple[int, int, int, int]) -> NDArray[np.uint8]:
    pixels, status = decode_region(np.frombuffer(content, dtype=np.uint8), eighths, box)
    assert status == "ok"
    assert pixels is not None
    return pixels


def status(content: bytes) -> str:
    return decode_region(np.frombuffer(content, dtype=np.uint8), 8, (0, 0, 8, 8))[1]


def whole(content: bytes, eighths: int = 8) -> NDArray[np.uint8]:
    width, height = Image.open(io.BytesIO(content)).size
    return region(content, eighths, (0, 0, -(-width * eighths // 8), -(-height * eighths // 8)))


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_whole_picture_is_what_pillow_decodes(sampling: str) -> None:
    content = sampled_jpeg(picture(1, 93, 77), sampling)
    image = Image.open(io.BytesIO(content))
    expected = np.atleast_3d(np.asarray(image))
    np.testing.assert_array_equal(whole(content), expected)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("eighths", [8, 4, 2, 1])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_crop_offset_modulo_32_equals_a_cut_out_of_the_whole(
    sampling: str, eighths: int, progressive: bool
) -> None:
    if progressive and sampling in ("4:4:0", "4:1:1"):
        pytest.skip("the test encoder writes baseline files only")
    content = sampled_jpeg(picture(2, 203, 187), sampling, progressive=progressive)
    full = whole(content, eighths)
    height, width = full.shape[:2]
    rng = np.random.default_rng(3)
    for offset in range(32):
        left, top = min(offset, width - 2), min((offset * 11) % 32 + rng.integers(0, 2) * 32, height - 2)
        right = int(rng.integers(left + 1, width + 1)) if offset % 4 else width
        bottom = int(rng.integers(top + 1, height + 1)) if offset % 3 else height
        found = region(content, eighths, (left, int(top), right, bottom))
        np.testing.assert_array_equal(found, full[top:bottom, left:right], f"{left, top, right, bottom}")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_every_offset_down_equals_a_cut_out_of_the_whole(sampling: str) -> None:
    content = sampled_jpeg(picture(4, 40, 99), sampling)
    full = whole(content)
    for top in range(98):
        np.testing.assert_array_equal(region(content, 8, (5, top, 33, top + 1)), full[top : top + 1, 5:33])


def test_a_region_outside_the_picture_is_refused() -> None:
    content = np.frombuffer(jpeg(picture(1)), dtype=np.uint8)
    assert decode_region(content, 8, (0, 0, 91, 70)) == (None, "wrong-size")
    assert decode_region(content, 8, (5, 5, 5, 9)) == (None, "wrong-size")


def test_cmyk_becomes_the_colours_pillow_shows() -> None:
    content = jpeg(Image.fromarray(picture(5)).convert("CMYK"))
    expected = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), dtype=int)
    assert np.abs(whole(content) - expected).max() <= 1


def test_ycck_becomes_the_colours_pillow_shows() -> None:
    content = patched(jpeg(Image.fromarray(picture(5)).convert("CMYK")), 0xEE, 11, 2)
    expected = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), dtype=int)
    assert np.abs(whole(content) - expected).max() <= 1


def test_cmyk_without_adobes_marker_is_read_as_pillow_reads_it() -> None:
    content = jpeg(Image.fromarray(picture(5)).convert("CMYK"))
    at = content.index(b"\xff\xee")
    content = content[:at] + content[at + 16 :]
    expected = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), dtype=int)
    assert np.abs(whole(content) - expected).max() <= 1


def test_an_rgb_jpeg_keeps_its_colours() -> None:
    content = jpeg(picture(6), keep_rgb=True)
    np.testing.assert_array_equal(whole(content), np.asarray(Image.open(io.BytesIO(content))))


def test_restart_markers_change_nothing() -> None:
    pixels = picture(6)
    np.testing.assert_array_equal(whole(jpeg(pixels, restart_marker_rows=1)), whole(jpeg(pixels)))


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "GIF"])
def test_another_picture_format_is_not_a_jpeg(kind: str) -> None:
    buffer = io.BytesIO()
    Image.fromarray(picture(7)).save(buffer, kind)
    assert status(buffer.getvalue()) == "not-a-jpeg"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"hello, this is text", "not-a-jpeg"),
        (b"\xff\xd8\xff", "truncated"),
        (b"\xff\xd8\xff\xd9", "corrupt"),
        (bytes(1000), "not-a-jpeg"),
        (jpeg(picture(8))[:-2], "truncated"),
        (jpeg(picture(8))[:-700], "truncated"),
        (jpeg(picture(8))[:40], "truncated"),
        (patched(jpeg(picture(8)), 0xC0, 0, 12), "unsupported"),
        (with_frame(jpeg(picture(8)), 0xC9), "unsupported"),
        (with_frame(jpeg(picture(8)), 0xC3), "unsupported"),
        (patched(patched(jpeg(picture(8)), 0xC0, 1, 0xFF), 0xC0, 3, 0xFF), "too-large"),
    ],
    ids=["empty", "text", "start", "no-image", "zeros", "no-end", "cut", "cut-header", "12-bit", "arithmetic",
         "lossless", "huge"],
)  # fmt: skip
def test_what_cannot_be_decoded_is_named(content: bytes, expected: str) -> None:
    assert status(content) == expected


def test_a_file_cut_off_below_the_crop_is_still_truncated() -> None:
    content = jpeg(picture(9, 200, 400))
    assert status(content[: len(content) // 2]) == "truncated"


def test_bytes_after_the_end_do_no_harm() -> None:
    content = jpeg(picture(9))
    np.testing.assert_array_equal(whole(content + b"trailing\x00\x00"), whole(content))


def test_flipped_bits_give_pixels_or_a_reason_and_never_a_crash() -> None:
    content = jpeg(picture(10))
    rng = np.random.default_rng(11)
    reasons = set()
    for _ in range(1500):
        damaged = bytearray(content)
        for at in rng.integers(2, len(content), rng.integers(1, 4)):
            damaged[at] ^= 1 << rng.integers(0, 8)
        reasons.add(status(bytes(damaged)))
    assert "ok" in reasons
    assert "corrupt" in reasons


def test_a_progressive_file_with_too_many_scans_is_refused() -> None:
    content = jpeg(picture(12), progressive=True)
    at = content.rindex(b"\xff\xda")
    bomb = content[:at] + content[at:-2] * 300 + b"\xff\xd9"
    assert status(bomb) == "corrupt"


def test_the_test_encoder_writes_what_it_says() -> None:
    pixels = picture(13, 64, 48)
    decoded = np.asarray(Image.open(io.BytesIO(encode(pixels, 4, 1))), dtype=int)
    assert np.abs(decoded - pixels).mean() < 15
