import io

import numpy as np
import pytest
from PIL import Image

from trainer.bench_input.kinds import why_left_to_libjpeg


def encoded(mode: str = "RGB", **options: object) -> bytes:
    pixels = np.random.default_rng(1).integers(0, 255, (40, 48, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def patched(file: bytes, marker: int, at: int, value: int) -> bytes:
    """The file with one byte of a segment's body changed."""
    start = file.index(bytes([0xFF, marker])) + 4
    return file[: start + at] + bytes([value]) + file[start + at + 1 :]


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (encoded(progressive=True), "progressive"),
        (encoded("CMYK"), "CMYK"),
        (encoded(keep_rgb=True), "RGB"),
        (patched(encoded(), 0xC0, 0, 12), "not 8 bits"),
        (patched(encoded(), 0xC0, 5, 2), "2 components"),
        (encoded().replace(b"\xff\xc0", b"\xff\xc9", 1), "arithmetic"),
        (encoded().replace(b"\xff\xc0", b"\xff\xc3", 1), "lossless or hierarchical"),
        (encoded(), "unusual sampling, tables or scans"),
        (b"\xff\xd8", "no frame"),
        (b"\xff\xd8\xff\xc0", "no frame"),
        (b"\xff\xd8abcdef", "no frame"),
        (b"\xff\xd8\xff\xff\xff\xff", "no frame"),
        (b"\xff\xd8\xff\xe0\x00\x00" * 3, "no frame"),
    ],
)
def test_the_frame_header_says_why(file: bytes, why: str) -> None:
    assert why_left_to_libjpeg(file) == why
