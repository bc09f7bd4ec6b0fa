import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, ImageOps

from overnight.shards.examine import Refused, Rules, Stored, examine

# pytest replaces the filter that overnight.shards.examine sets.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:PIL")

RULES = Rules(max_shorter_side=0, jpeg_quality=95, max_pixels=1_000_000)
SIZE = (48, 32)
RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)


def picture(size=SIZE):
    """Red, green over blue, white: every turn and mirror of it is different."""
    image = Image.new("RGB", size, RED)
    width, height = size
    image.paste(GREEN, (width // 2, 0, width, height // 2))
    image.paste(BLUE, (0, height // 2, width // 2, height))
    image.paste(WHITE, (width // 2, height // 2, width, height))
    return image


def saved(image, kind="JPEG", **options):
    out = io.BytesIO()
    image.save(out, kind, **({"quality": 95, "subsampling": 0} if kind == "JPEG" else {}) | options)
    return out.getvalue()


def pixels(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"), dtype=int)


def assert_looks_like(stored, expected, tolerance=6):
    assert isinstance(stored, Stored), stored
    with Image.open(io.BytesIO(stored.data)) as image:
        assert image.format == "JPEG"
        assert image.mode in ("L", "RGB")
        assert image.size == expected.size == (stored.width, stored.height)
        assert image.getexif().get(0x0112, 1) == 1
    difference = np.abs(pixels(stored.data) - np.asarray(expected.convert("RGB"), dtype=int))
    # Corners only meet at sharp edges, where JPEG rings; the rest must agree.
    assert np.percentile(difference, 90) <= tolerance


def with_exif(data, tiff):
    segment = b"Exif\0\0" + tiff
    return data[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + data[2:]


def orientation_tiff(value, order=">"):
    mark = b"MM" if order == ">" else b"II"
    entry = struct.pack(order + "HHIHH", 0x0112, 3, 1, value, 0)
    return mark + struct.pack(order + "HIH", 42, 8, 1) + entry + struct.pack(order + "I", 0)


def markers(data):
    """(offset of FF, code) of each marker before the coded data."""
    position, found = 2, []
    while data[position + 1] != 0xDA:
        found.append((position, data[position + 1]))
        position += 2 + int.from_bytes(data[position + 2 : position + 4])
    return found


def without(data, code):
    for position, found in markers(data):
        if found == code:
            return data[:position] + data[position + 2 + int.from_bytes(data[position + 2 : position + 4]) :]
    raise AssertionError(f"no marker {code:#x}")


def ycck(image):
    """A YCCK JPEG as Adobe writes it: inverted inks, then RGB to YCbCr, transform 2."""
    cyan, magenta, yellow, black = image.convert("RGB").convert("CMYK").split()
    turned = [*Image.merge("RGB", (cyan, magenta, yellow)).convert("YCbCr").split()]
    data = saved(Image.merge("CMYK", [*map(ImageOps.invert, turned), black]), quality=100)
    at = data.index(b"Adobe") + 11
    assert data[at] == 0
    return data[:at] + b"\x02" + data[at + 1 :]


def cmyk():
    return picture().convert("CMYK")


def animation(kind):
    frames = [picture(), ImageOps.mirror(picture()), ImageOps.flip(picture())]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:])


SOUND = {
    "colour": saved(picture()),
    "grey": saved(picture().convert("L")),
    "progressive": saved(picture(), progressive=True),
    "4:2:0": saved(picture(), subsampling=2),
    "4:2:2": saved(picture(), subsampling=1),
    "restart markers": saved(picture(), restart_marker_rows=1),
    "optimized": saved(picture(), optimize=True),
    "RGB coded": saved(picture(), keep_rgb=True),
    "a comment and a profile": saved(
        picture(), comment=b"by hand", icc_profile=ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    ),
    "upright EXIF": with_exif(saved(picture()), orientation_tiff(1)),
    "one pixel": saved(Image.new("RGB", (1, 1), RED)),
    "a thumbnail with its own end": with_exif(saved(picture()), b"MM\0*" + saved(picture((8, 8)))),
    "fill bytes": saved(picture())[:2] + b"\xff\xff" + saved(picture())[2:],
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND.keys())
def test_a_sound_jpeg_keeps_every_byte(data):
    stored = examine(data, RULES)
    assert isinstance(stored, Stored), stored
    assert stored.data == data
    assert (stored.converted, stored.orientation) == ("", 1)


@pytest.mark.parametrize(
    "tiff",
    [
        b"",
        b"MM",
        b"garbage!",
        b"MM\0*\0\0\0\x08\xff\xff",
        b"II*\0\xff\xff\xff\x7f",
        orientation_tiff(0),
        orientation_tiff(9),
        orientation_tiff(65_535, "<"),
        orientation_tiff(6).replace(b"\0\x03\0\0", b"\0\x02\0\0"),
    ],
)
def test_malformed_exif_is_no_reason_to_touch_or_refuse_a_picture(tiff):
    data = with_exif(saved(picture()), tiff)
    stored = examine(data, RULES)
    assert isinstance(stored, Stored), stored
    assert (stored.data, stored.orientation) == (data, 1)


@pytest.mark.parametrize("order", [">", "<"], ids=["big-endian", "little-endian"])
@pytest.mark.parametrize("orientation", range(2, 9))
def test_each_orientation_is_applied_and_recorded(orientation, order):
    # Seen by its own viewer, each file shows the same picture.
    undo = {2: 2, 3: 3, 4: 4, 5: 5, 6: 8, 7: 7, 8: 6}[orientation]
    turn = Image.Image.transpose
    methods = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}  # PIL.Image.Transpose
    data = with_exif(saved(turn(picture(), Image.Transpose(methods[undo]))), orientation_tiff(orientation, order))
    stored = examine(data, RULES)
    assert_looks_like(stored, picture())
    assert (stored.orientation, stored.converted) == (orientation, "orientation")


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_orientation_is_applied_in_other_formats_too(kind, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if kind == "WEBP" else {}
    data = saved(picture(), kind, exif=exif, **options)
    with Image.open(io.BytesIO(data)) as image:
        expected = image.copy() if kind == "TIFF" else ImageOps.exif_transpose(image)
    stored = examine(data, RULES)
    assert_looks_like(stored, expected)
    assert (stored.orientation, stored.converted) == (orientation, f"{kind.lower()},orientation")


def test_adobe_cmyk_becomes_rgb_with_the_right_colours():
    stored = examine(saved(cmyk(), quality=100), RULES)
    assert_looks_like(stored, picture())
    assert stored.converted == "cmyk"


def test_ycck_becomes_rgb_with_the_right_colours():
    stored = examine(ycck(picture()), RULES)
    assert_looks_like(stored, picture())
    assert stored.converted == "ycck"


def test_cmyk_without_adobes_mark_is_not_inverted():
    plain_inks = Image.merge("CMYK", [ImageOps.invert(band) for band in cmyk().split()])
    data = without(saved(plain_inks, quality=100), 0xEE)
    stored = examine(data, RULES)
    assert_looks_like(stored, picture())
    assert stored.converted == "cmyk"


def test_a_cmyk_profile_does_not_stay_with_an_rgb_picture():
    profile = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    profile[16:20] = b"CMYK"
    stored = examine(saved(cmyk(), icc_profile=bytes(profile)), RULES)
    assert b"ICC_PROFILE" not in stored.data


def test_an_rgb_profile_stays_with_a_converted_picture():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    stored = examine(saved(picture(), "PNG", icc_profile=profile), RULES)
    with Image.open(io.BytesIO(stored.data)) as image:
        assert image.info["icc_profile"] == profile


OTHER_FORMATS = {
    "PNG": (saved(picture(), "PNG"), "png"),
    "PNG with a palette": (saved(picture().quantize(16), "PNG"), "png"),
    "PNG of one bit": (saved(picture().convert("1", dither=0), "PNG"), "png"),
    "PNG grey": (saved(picture().convert("L"), "PNG"), "png"),
    "WebP": (saved(picture(), "WEBP", lossless=True), "webp"),
    "GIF": (saved(picture(), "GIF"), "gif"),
    "BMP": (saved(picture(), "BMP"), "bmp"),
    "TIFF": (saved(picture(), "TIFF"), "tiff"),
    "TIFF with LZW": (saved(picture(), "TIFF", compression="tiff_lzw"), "tiff"),
    "TIFF in CMYK": (saved(cmyk(), "TIFF"), "tiff"),
    "AVIF": (saved(picture(), "AVIF", quality=100, subsampling="4:4:4"), "avif"),
}


@pytest.mark.parametrize(("data", "name"), OTHER_FORMATS.values(), ids=OTHER_FORMATS.keys())
def test_other_formats_become_jpegs_and_say_so(data, name):
    stored = examine(data, RULES)
    with Image.open(io.BytesIO(data)) as image:
        assert_looks_like(stored, image.convert("RGB"), tolerance=8)
    assert stored.converted == name


def test_grey_pictures_stay_grey():
    stored = examine(saved(picture().convert("L"), "PNG"), RULES)
    with Image.open(io.BytesIO(stored.data)) as image:
        assert image.mode == "L"


def transparent(mode):
    image = picture().convert(mode)
    image.putalpha(Image.linear_gradient("L").resize(SIZE))
    return image


def palette_with_hole():
    image = picture().quantize(16)
    image.info["transparency"] = image.getpixel((0, 0))
    return saved(image, "PNG", transparency=image.getpixel((0, 0)))


@pytest.mark.parametrize(
    "data",
    [
        saved(transparent("RGBA"), "PNG"),
        saved(transparent("LA"), "PNG"),
        saved(transparent("RGBA"), "WEBP", lossless=True),
        palette_with_hole(),
        saved(picture(), "PNG", transparency=RED),
    ],
    ids=["RGBA", "LA", "WebP", "palette", "one colour"],
)
def test_transparent_parts_become_white(data):
    with Image.open(io.BytesIO(data)) as image:
        layer = image.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        expected = Image.alpha_composite(white, layer).convert("RGB")
    stored = examine(data, RULES)
    assert_looks_like(stored, expected)
    assert stored.converted.endswith(",alpha")


def test_a_multi_picture_file_keeps_its_first_jpeg_bit_for_bit():
    first = saved(picture())
    data = saved(picture(), "MPO", save_all=True, append_images=[ImageOps.mirror(picture())], quality=95, subsampling=0)
    stored = examine(data, RULES)
    assert_looks_like(stored, picture())
    assert stored.converted == "multi-picture"
    assert stored.data.endswith(b"\xff\xd9")
    assert b"MPF\0" not in stored.data
    assert (pixels(stored.data) == pixels(first)).all()


@pytest.mark.parametrize("tail", [b"\0", b"\0" * 600, b"SEFT trailer", saved(picture()), b"\xff"])
def test_bytes_behind_the_end_are_cut_off_and_nothing_else(tail):
    data = saved(picture())
    stored = examine(data + tail, RULES)
    assert (stored.data, stored.converted) == (data, "trailing-bytes")


REFUSED = {
    "no bytes": (b"", "empty"),
    "words": (b"hello, this is no picture", "not-an-image"),
    "zeros": (bytes(5000), "not-an-image"),
    "a web page": (b"<!DOCTYPE html><html><body>404</body></html>", "not-an-image"),
    "an SVG": (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "not-an-image"),
    "PostScript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "not-an-image"),
    "JPEG start only": (saved(picture())[:3], "truncated"),
    "JPEG header only": (saved(picture())[:200], "truncated"),
    "JPEG without its end": (saved(picture())[:-2], "truncated"),
    "JPEG half": (saved(picture())[: len(saved(picture())) // 2], "truncated"),
    "JPEG filled up with zeros": (saved(picture())[:-90].ljust(1800, b"\0"), "truncated"),
    "progressive JPEG half": (saved(picture(), progressive=True)[:-300], "truncated"),
    "JPEG end without a picture": (b"\xff\xd8\xff\xd9" + bytes(50), "unreadable"),
    "JPEG with a broken segment": (b"\xff\xd8\xff\xe0\0\0" + bytes(500), "unreadable"),
    "PNG half": (saved(picture(), "PNG")[:90], "truncated"),
    "PNG without its end": (saved(picture(), "PNG")[:-12], "truncated"),
    "PNG signature only": (saved(picture(), "PNG")[:8], "truncated"),
    "PNG with a wrong checksum": (saved(picture(), "PNG").replace(b"IDAT\x78", b"IDAT\x79"), "unreadable"),
    "WebP half": (saved(picture(), "WEBP")[:60], "truncated"),
    "BMP half": (saved(picture(), "BMP")[:500], "truncated"),
    "grey PNG of 16 bits": (saved(Image.new("I;16", SIZE, 40_000), "PNG"), "sixteen-bit"),
    "grey TIFF of 16 bits": (saved(Image.new("I;16", SIZE, 40_000), "TIFF"), "sixteen-bit"),
    "floating-point TIFF": (saved(Image.new("F", SIZE, 0.5), "TIFF"), "sixteen-bit"),
    "animated GIF": (animation("GIF"), "animated"),
    "animated WebP": (animation("WEBP"), "animated"),
    "animated PNG": (animation("PNG"), "animated"),
    "TIFF of several pages": (animation("TIFF"), "animated"),
    "a large JPEG": (saved(Image.new("L", (1001, 1000))), "too-large"),
    "a large PNG": (saved(Image.new("1", (1001, 1000)), "PNG"), "too-large"),
}


@pytest.mark.parametrize(("data", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_used_is_refused_with_its_reason(data, reason):
    refused = examine(data, RULES)
    assert isinstance(refused, Refused), refused
    assert refused.reason == reason
    assert refused.detail
    assert " 0x" not in refused.detail, "a memory address would differ from run to run"


def test_a_jpeg_cut_in_its_data_but_with_an_end_is_refused():
    """libjpeg fills the missing part with grey, and Pillow says nothing of it."""
    noisy = saved(Image.effect_noise((64, 64), 60).convert("RGB"))
    for data in (noisy[: len(noisy) // 2] + b"\xff\xd9", noisy[:-900] + noisy[-300:]):
        with Image.open(io.BytesIO(data)) as image:
            image.load()
        refused = examine(data, RULES)
        assert isinstance(refused, Refused)
        assert (refused.reason, refused.detail) == ("truncated", "Corrupt JPEG data: premature end of data segment")


def test_data_lost_between_restart_markers_is_refused():
    noisy = saved(Image.effect_noise((64, 64), 60), restart_marker_rows=1)
    mark = noisy.index(b"\xff\xd3")
    refused = examine(noisy[: mark - 40] + noisy[mark:], RULES)
    assert isinstance(refused, Refused)
    assert refused.reason == "truncated"


def test_a_few_bytes_too_many_before_the_end_are_harmless():
    data = saved(picture())[:-2] + b"\x11\x22\x33" + b"\xff\xd9"
    assert examine(data, RULES).data == data


def png_chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width, height, depth, colour, rows):
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    body = png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def test_colour_png_of_16_bits_is_refused_though_pillow_would_round_it():
    refused = examine(png(2, 1, 16, 2, b"\0" + bytes(12)), RULES)
    assert refused == Refused("sixteen-bit", "16 bits a sample")


@pytest.mark.parametrize("rows", [b"", b"\0" * 3])
def test_a_png_without_a_whole_row_is_refused(rows):
    assert isinstance(examine(png(4, 4, 8, 0, rows), RULES), Refused)


def test_a_decompression_bomb_is_refused_before_a_pixel_is_decoded():
    refused = examine(png(60_000, 60_000, 8, 0, b"\0"), RULES)
    assert isinstance(refused, Refused)
    assert refused.reason == "too-large"


def test_a_picture_too_long_for_a_jpeg_is_refused():
    refused = examine(saved(Image.new("1", (65_501, 1)), "PNG"), RULES)
    assert isinstance(refused, Refused)
    assert refused.reason == "too-large"


def test_a_12_bit_jpeg_is_refused():
    data = bytearray(saved(picture()))
    frame = next(position for position, code in markers(data) if code == 0xC0)
    data[frame + 1], data[frame + 4] = 0xC1, 12
    assert examine(bytes(data), RULES) == Refused("sixteen-bit", "12 bits a sample")


@pytest.mark.parametrize("code", [0xC3, 0xC5, 0xC9, 0xCB])
def test_uncommon_coding_never_passes_untouched(code):
    data = bytearray(saved(picture()))
    frame = next(position for position, found in markers(data) if found == 0xC0)
    data[frame + 1] = code
    verdict = examine(bytes(data), RULES)
    assert isinstance(verdict, Refused) or verdict.converted == "coding"


def test_only_larger_pictures_are_resized():
    rules = Rules(max_shorter_side=32, jpeg_quality=95, max_pixels=1_000_000)
    small, large = saved(picture((48, 32))), saved(picture((96, 64)))
    assert examine(small, rules).data == small
    stored = examine(large, rules)
    assert_looks_like(stored, picture((48, 32)))
    assert stored.converted == "resized"


def test_every_change_is_recorded_in_order():
    exif = Image.Exif()
    exif[0x0112] = 6
    rules = Rules(max_shorter_side=16, jpeg_quality=95, max_pixels=1_000_000)
    stored = examine(saved(transparent("RGBA"), "PNG", exif=exif), rules)
    assert stored.converted == "png,alpha,orientation,resized"
    assert (stored.width, stored.height) == (16, 24)


def test_the_hash_survives_another_encoding_and_tells_pictures_apart():
    ramp = Image.linear_gradient("L").rotate(90).resize(SIZE)
    one = examine(saved(ramp, quality=95), RULES)
    two = examine(saved(ramp, "PNG"), RULES)
    other = examine(saved(ImageOps.mirror(ramp)), RULES)
    assert (one.phash ^ two.phash).bit_count() <= 2
    assert (one.phash ^ other.phash).bit_count() >= 48
    assert examine(saved(Image.new("L", SIZE, 9)), RULES).phash == 0


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["colour", "progressive", "PNG", "WebP", "GIF", "TIFF", "BMP"]),
    damage=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.one_of(st.none(), st.integers(0, 3000)),
)
def test_damaged_files_end_in_a_verdict_and_always_in_the_same(kind, damage, cut):
    data = bytearray(SOUND[kind] if kind in SOUND else OTHER_FORMATS[kind][0])
    for position, value in damage:
        data[position % len(data)] = value
    damaged = bytes(data[:cut])
    verdict = examine(damaged, RULES)
    assert verdict == examine(damaged, RULES)
    if isinstance(verdict, Stored):
        with Image.open(io.BytesIO(verdict.data)) as image:
            image.load()
            assert image.size == (verdict.width, verdict.height)
