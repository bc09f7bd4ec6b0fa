"""Look at one image before training does: keep its bytes, convert them, or say why it cannot be used."""

import io
import re
import warnings
from dataclasses import dataclass
from typing import Literal

from PIL import Image, UnidentifiedImageError

from overnight.shards import containers, jpeg, pixels, strict

Reason = Literal[
    "empty",
    "truncated",
    "not-an-image",
    "sixteen-bit",
    "animated",
    "too-large",
    "unreadable",
    "changed-since-import",
    "decoders-disagree",
]
READ_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
# libjpeg's limit for one side of a picture it writes.
MAX_SIDE = 65_500
_SIXTEEN_BIT_MODES = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")
_TIFF_BITS_PER_SAMPLE = 258
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_SIGNATURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"RIFF")

# The limit is max_pixels below, checked before any pixel is decoded; Pillow's own would stop larger settings.
Image.MAX_IMAGE_PIXELS = None
# Pillow warns of odd metadata, which does not touch the pixels.
warnings.filterwarnings("ignore", module=r"PIL\.")


@dataclass(frozen=True)
class Rules:
    """What a stored image must obey; sides and areas in pixels, 0 = no cap of the shorter side."""

    max_shorter_side: int
    jpeg_quality: int
    max_pixels: int
    restart_markers: bool = False


@dataclass(frozen=True)
class Stored:
    """An image fit for training: its JPEG bytes and what is known of them (docs/formats.md, index.parquet)."""

    data: bytes
    width: int
    height: int
    phash: int
    orientation: int
    converted: str


@dataclass(frozen=True)
class Refused:
    """An image that stays out, with the reason's name and a detail in words."""

    reason: Reason
    detail: str


class _Refusal(Exception):
    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.refused = Refused(reason, detail)


def examine(data: bytes, rules: Rules) -> Stored | Refused:
    """Decode `data` wholly and decide: a pure function of the bytes, the rules and the versions of Pillow's libraries.

    Bytes that are a sound, upright, 8-bit grey or colour JPEG come back untouched.
    """
    try:
        return _examine(data, rules)
    except _Refusal as refusal:
        return refusal.refused
    except MemoryError:
        raise  # a small machine is no property of the image
    except Exception as error:  # hostile bytes make decoders raise nearly any type
        detail = _ADDRESS.sub("", str(error)) or type(error).__name__
        return Refused("truncated" if "truncated" in detail else "unreadable", detail)


def _examine(data: bytes, rules: Rules) -> Stored | Refused:
    if not data:
        raise _Refusal("empty", "the file has no bytes")
    if data.startswith(b"\xff\xd8\xff"):
        return _examine_jpeg(data, rules)
    _check_container(data)
    with _opened(data) as image:
        _check_frames(image)
        _check_area(*image.size, rules)
        _check_depth(data, image)
        kinds = [str(image.format).lower()]
        orientation = pixels.orientation_of(image)
        image.load()
        if image.has_transparency_data:
            kinds.append("alpha")
        # Pillow turns TIFF pictures upright while it loads them.
        turned = image if image.format == "TIFF" else pixels.upright(image, orientation)
        return _converted(turned, image.info.get("icc_profile"), orientation, kinds, rules)


def _examine_jpeg(data: bytes, rules: Rules) -> Stored:
    found = _jpeg_structure(data)
    _check_area(found.width, found.height, rules)
    if found.precision != 8:
        raise _Refusal("sixteen-bit", f"{found.precision} bits a sample")
    kept = jpeg.first_picture(data, found)
    with _opened(kept) as image:
        orientation = pixels.orientation_of(image)
        image.load()
        _check_damage(kept)
        kinds = _jpeg_kinds(found)
        if not kinds and orientation == 1 and pixels.capped(image, rules.max_shorter_side) is image:
            return _untouched(kept, image, _cuts(data, found))
        picture: Image.Image = image
        # Pillow takes every CMYK JPEG to be Adobe's, whose inks are stored inverted; without Adobe's mark they are not.
        if found.components == 4 and found.adobe_transform is None:
            picture = pixels.inverted_inks(picture)
        profile = image.info.get("icc_profile")
        return _converted(pixels.upright(picture, orientation), profile, orientation, kinds, rules)


def _check_damage(data: bytes) -> None:
    said = strict.damage(data)
    if said:
        raise _Refusal("truncated" if strict.PREMATURE in said else "unreadable", said)


def _jpeg_structure(data: bytes) -> jpeg.Structure:
    try:
        return jpeg.structure(data)
    except jpeg.Truncated as error:
        raise _Refusal("truncated", str(error)) from None
    except jpeg.Malformed as error:
        raise _Refusal("unreadable", str(error)) from None


def _jpeg_kinds(found: jpeg.Structure) -> list[str]:
    """Why the coded picture itself cannot stay as it is."""
    kinds = []
    if found.components == 4:
        kinds.append("ycck" if found.adobe_transform == 2 else "cmyk")
    if found.frame not in jpeg.COMMON_FRAMES:
        kinds.append("coding")
    return kinds


def _cuts(data: bytes, found: jpeg.Structure) -> str:
    """What was cut off without touching the coded picture."""
    if found.multi_picture:
        return "multi-picture"
    return "trailing-bytes" if found.end < len(data) else ""


def _untouched(data: bytes, image: Image.Image, converted: str) -> Stored:
    return Stored(
        data=data,
        width=image.width,
        height=image.height,
        phash=pixels.difference_hash(image),
        orientation=1,
        converted=converted,
    )


def _converted(image: Image.Image, profile: bytes | None, orientation: int, kinds: list[str], rules: Rules) -> Stored:
    picture = pixels.eight_bit(image)
    capped = pixels.capped(picture, rules.max_shorter_side)
    if max(capped.size) > MAX_SIDE:
        raise _Refusal("too-large", f"{capped.width} x {capped.height} pixels: a JPEG's side has at most {MAX_SIDE}")
    notes = [*kinds, *(["orientation"] if orientation != 1 else []), *(["resized"] if capped is not picture else [])]
    return Stored(
        data=pixels.encoded(capped, rules.jpeg_quality, profile),
        width=capped.width,
        height=capped.height,
        phash=pixels.difference_hash(capped),
        orientation=orientation,
        converted=",".join(notes),
    )


def _opened(data: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data), formats=READ_FORMATS)
    except UnidentifiedImageError:
        if data.startswith(_SIGNATURES):
            raise _Refusal("unreadable", "the file's header is damaged") from None
        raise _Refusal("not-an-image", f"none of {', '.join(READ_FORMATS)}") from None


def _check_container(data: bytes) -> None:
    try:
        containers.check(data)
    except containers.Truncated as error:
        raise _Refusal("truncated", str(error)) from None
    except containers.Damaged as error:
        raise _Refusal("unreadable", str(error)) from None


def _check_frames(image: Image.Image) -> None:
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        raise _Refusal("animated", f"{frames} frames")


def _check_area(width: int, height: int, rules: Rules) -> None:
    if width * height > rules.max_pixels:
        raise _Refusal("too-large", f"{width} x {height} pixels, where at most {rules.max_pixels} are allowed")


def _check_depth(data: bytes, image: Image.Image) -> None:
    bits = 16 if image.mode in _SIXTEEN_BIT_MODES else 8
    if image.format == "PNG":
        bits = containers.png_bit_depth(data)
    elif image.format == "TIFF":
        bits = max([bits, *image.tag_v2.get(_TIFF_BITS_PER_SAMPLE, (1,))])  # type: ignore[attr-defined]
    if bits > 8:
        raise _Refusal("sixteen-bit", f"{bits} bits a sample")
