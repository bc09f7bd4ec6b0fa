"""Rewriting a JPEG changes how its picture is coded, and nothing of the picture."""

import io
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageCms

from jpeg_files import SAMPLINGS, jpeg, patched, picture, sampled_jpeg, segments, with_frame
from trainer._native import LIBJPEG_VERSION, STATUS_NAMES, decoders_agree, reference_planes, rewrite

WAYS: dict[str, dict[str, Any]] = {
    "baseline": {},
    "own tables": {"optimize": True},
    "progressive": {"progressive": True},
    "an interval of 3 units": {"restart_marker_blocks": 3},
    "an interval of 2 rows": {"restart_marker_rows": 2},
    "coarse": {"quality": 5},
    "fine": {"quality": 100},
}
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def rewritten(content: bytes, rows: int = 1) -> bytes:
    made, status = rewrite(content, rows)
    assert status == "ok"
    assert made is not None
    return made


def pixels(content: bytes) -> np.ndarray[Any, Any]:
    return np.asarray(Image.open(io.BytesIO(content)))


def assert_same_picture(made: bytes, content: bytes) -> None:
    np.testing.assert_array_equal(pixels(made), pixels(content))
    image = Image.open(io.BytesIO(content))
    if image.mode != "CMYK":
        for (_, new), (_, old) in zip(planes(made), planes(content), strict=True):
            np.testing.assert_array_equal(new, old)


def planes(content: bytes) -> list[tuple[int, Any]]:
    made, status = reference_planes(np.frombuffer(content, dtype=np.uint8), 8)
    assert status == "ok"
    return made


def markers(content: bytes) -> list[int]:
    return [marker for marker, _, _ in segments(content)]


def payload(content: bytes, marker: int) -> bytes:
    return next(data for found, _, data in segments(content) if found == marker)


def restarts(content: bytes) -> int:
    """Restart markers in the coded data, where 0xFF is followed by 0 or by a marker."""
    return sum(content.count(bytes([0xFF, 0xD0 + number])) for number in range(8))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_the_picture_stays_bit_for_bit(sampling: str, way: str) -> None:
    if sampling in ("4:4:0", "4:1:1") and way != "baseline":
        pytest.skip("the test encoder writes plain files only")
    for seed, (width, height) in enumerate([(90, 70), (64, 64), (17, 33), (1, 1), (250, 9)]):
        content = sampled_jpeg(picture(seed, width, height), sampling, **WAYS[way])
        made = rewritten(content)
        assert_same_picture(made, content)
        assert decoders_agree(made) == "ok"


@pytest.mark.parametrize("mode", ["CMYK", "YCCK", "RGB"])
def test_other_colours_stay_as_they_are(mode: str) -> None:
    image = Image.fromarray(picture(3))
    content = jpeg(image, keep_rgb=True) if mode == "RGB" else jpeg(image.convert("CMYK"))
    if mode == "YCCK":
        content = patched(content, 0xEE, 11, 2)
    made = rewritten(content)
    assert_same_picture(made, content)
    assert Image.open(io.BytesIO(made)).mode == Image.open(io.BytesIO(content)).mode


@pytest.mark.parametrize("rows", [1, 2, 100, 0])
def test_a_marker_stands_after_each_so_many_rows_of_units(rows: int) -> None:
    made = rewritten(sampled_jpeg(picture(4, 200, 150), "4:2:0"), rows)
    units_across, units_down = 13, 10
    if rows == 0:
        assert 0xDD not in markers(made)
        assert restarts(made) == 0
    else:
        assert int.from_bytes(payload(made, 0xDD)) == rows * units_across
        assert restarts(made) == -(-units_down // rows) - 1


def test_progressive_files_become_one_sequential_scan() -> None:
    content = jpeg(picture(5), progressive=True)
    made = rewritten(content)
    assert 0xC2 in markers(content)
    assert 0xC0 in markers(made)
    assert made.count(b"\xff\xda") == 1


@pytest.mark.parametrize("way", WAYS)
def test_a_rewritten_file_is_rewritten_to_itself(way: str) -> None:
    made = rewritten(jpeg(picture(6, 130, 110), **WAYS[way]))
    assert rewritten(made) == made


def test_standard_tables_stay_and_own_ones_are_made_anew() -> None:
    plain = jpeg(picture(7, 300, 200))
    small = jpeg(picture(7, 300, 200), optimize=True)
    tables = [data for marker, _, data in segments(plain) if marker == 0xC4]
    assert [data for marker, _, data in segments(rewritten(plain)) if marker == 0xC4] == [b"".join(tables)]
    assert len(rewritten(small)) < len(plain)
    assert rewritten(small) == rewritten(jpeg(picture(7, 300, 200), progressive=True))


def test_markers_cost_few_bytes() -> None:
    content = jpeg(picture(11, 500, 375), subsampling="4:2:0")
    rows_of_units = 24
    assert len(rewritten(content)) - len(rewritten(content, 0)) < 6 + 4 * rows_of_units
    assert len(rewritten(content, 0)) == len(content) - 16


def test_what_may_tell_of_a_person_goes_and_what_decoding_needs_stays() -> None:
    exif = Image.Exif()
    exif[0x010E] = "at home, 48.1 N 11.5 E"
    content = jpeg(picture(8), exif=exif, comment=b"taken by Jo", icc_profile=PROFILE, dpi=(300, 300))
    made = rewritten(content)
    for secret in (b"at home", b"taken by Jo"):
        assert secret in content
        assert secret not in made
    image = Image.open(io.BytesIO(made))
    assert image.info["icc_profile"] == PROFILE
    assert image.info["dpi"] == (300, 300)
    assert markers(made)[:2] == [0xE0, 0xE2]
    assert rewritten(made) == made


def test_a_profile_of_many_segments_stays_whole() -> None:
    long = PROFILE + bytes(range(256)) * 600
    assert Image.open(io.BytesIO(rewritten(jpeg(picture(8), icc_profile=long)))).info["icc_profile"] == long


def test_a_file_without_jfif_gets_none() -> None:
    content = jpeg(picture(9))
    at, size = 2, 18
    bare = content[:at] + content[at + size :]
    made = rewritten(bare)
    assert 0xE0 not in markers(made)
    assert_same_picture(made, bare)


def test_bytes_behind_the_end_and_padding_before_a_marker_go() -> None:
    content = jpeg(picture(10))
    assert rewritten(content + b"more") == rewritten(content)
    assert rewritten(content[:-2] + b"\0\0\0" + content[-2:]) == rewritten(content)


def test_a_difference_between_the_decoders_shows() -> None:
    """Steps 255 times too large: products leave 16 bits, and each decoder goes its own way."""
    content = patched(jpeg(picture(10), quality=100), 0xDB, 1, 255)
    assert decoders_agree(jpeg(picture(10), quality=100)) == "ok"
    assert decoders_agree(content) == "decoders-disagree"
    assert decoders_agree(rewritten(content)) == "decoders-disagree"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", "empty"),
        (b"not a picture", "not-a-jpeg"),
        (b"\x89PNG\r\n\x1a\n", "not-a-jpeg"),
        (jpeg(picture(1))[:400], "truncated"),
        (jpeg(picture(1))[:-700], "truncated"),
        (patched(jpeg(picture(1)), 0xC0, 0, 12), "unsupported"),
        (with_frame(jpeg(picture(1)), 0xC9), "unsupported"),
    ],
)
def test_a_file_that_cannot_be_rewritten_says_why(content: bytes, status: str) -> None:
    assert rewrite(content, 1) == (None, status)
    assert decoders_agree(content) == status


def test_a_picture_beyond_the_limit_costs_no_memory() -> None:
    content = jpeg(picture(1))
    for offset in (1, 3):
        content = patched(content, 0xC0, offset, 0xFF)
    assert rewrite(content, 1) == (None, "too-large")
    assert decoders_agree(content) == "too-large"


def test_endlessly_many_scans_are_refused() -> None:
    content = jpeg(picture(1), progressive=True)
    last = content.rindex(b"\xff\xda")
    assert rewrite(content[:-2] + content[last:-2] * 300 + content[-2:], 1) == (None, "corrupt")


@pytest.mark.parametrize("rows", [-1, 65_536])
def test_rows_outside_the_format_are_a_mistake(rows: int) -> None:
    with pytest.raises(ValueError, match="rows_per_restart must be from 0 to 65535"):
        rewrite(jpeg(picture(1)), rows)


def damaged(seed: int) -> bytes:
    """A file that was cut off or has wrong bits, anywhere."""
    rng = random.Random(seed)
    content = bytearray(jpeg(picture(seed % 5, 60, 50), **WAYS[rng.choice(list(WAYS))]))
    if seed % 2:
        return bytes(content[: rng.randrange(len(content))])
    for _ in range(rng.randint(1, 4)):
        content[rng.randrange(2, len(content))] ^= 1 << rng.randrange(8)
    return bytes(content)


def test_a_thousand_damaged_files_give_a_status_and_nothing_half_right() -> None:
    found = set()
    for seed in range(1000):
        content = damaged(seed)
        made, status = rewrite(content, 1)
        found.add(status)
        assert status in STATUS_NAMES
        assert decoders_agree(content) in STATUS_NAMES
        if made is not None:
            assert decoders_agree(made) in ("ok", "decoders-disagree")
            assert rewritten(made) == made
    assert {"ok", "truncated", "corrupt"} <= found


def test_bad_files_leave_no_memory_behind(resident_bytes: Callable[[], int]) -> None:
    files = [damaged(seed) for seed in range(200)]
    for content in files:
        rewrite(content, 1)
    before = resident_bytes()
    for _ in range(10):
        for content in files:
            rewrite(content, 1)
            decoders_agree(content)
    assert resident_bytes() - before < 2_000_000


def test_the_version_that_decides_the_bytes_is_told() -> None:
    assert LIBJPEG_VERSION.split(".")[0].isdigit()
