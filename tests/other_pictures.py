"""Pictures for tests that are no JPEGs."""

import io
from dataclasses import replace
from typing import Any

from PIL import Image

from jpeg_files import picture
from snapshot_files import Member, member

LOSSLESS = ("PNG", "WEBP", "BMP", "TIFF")


def encoded(image: Any, kind: str, **options: Any) -> bytes:
    """An image, or pixels, in a format of Pillow's."""
    buffer = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(buffer, kind, **options)
    return buffer.getvalue()


def slow_member(number: int) -> Member:
    """A member whose picture is a PNG, WebP, BMP or TIFF, without loss."""
    made = member(number)
    content = encoded(picture(number, made.width, made.height), LOSSLESS[number % 4], lossless=True)
    return replace(made, content=content)
