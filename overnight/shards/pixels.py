"""Pure steps on decoded pictures: upright, on white, 8-bit, capped, encoded, hashed."""

import io

from PIL import Image, ImageChops

Method = Image.Transpose
# What makes a picture with EXIF orientation n upright (EXIF 2.32, tag 0x0112).
UPRIGHT = {
    2: Method.FLIP_LEFT_RIGHT,
    3: Method.ROTATE_180,
    4: Method.FLIP_TOP_BOTTOM,
    5: Method.TRANSPOSE,
    6: Method.ROTATE_270,
    7: Method.TRANSVERSE,
    8: Method.ROTATE_90,
}
ORIENTATION_TAG = 0x0112
_GREY_MODES = frozenset({"1", "L", "LA", "La"})


def orientation_of(image: Image.Image) -> int:
    """The EXIF orientation, 1 to 8; 1 where there is none, or where EXIF is malformed or the value out of range."""
    try:
        value = image.getexif().get(ORIENTATION_TAG, 1)
    except Exception:  # any parser error of damaged EXIF: the picture itself may still be well
        return 1
    return value if isinstance(value, int) and value in UPRIGHT else 1


def upright(image: Image.Image, orientation: int) -> Image.Image:
    """The picture as it should be seen."""
    return image.transpose(UPRIGHT[orientation]) if orientation in UPRIGHT else image


def eight_bit(image: Image.Image) -> Image.Image:
    """The picture as grey ("L") or colour ("RGB"); transparent parts become white.

    CMYK becomes RGB by (1 - ink)(1 - black), without a colour profile. Raises ValueError for modes Pillow cannot
    convert, such as LAB.
    """
    target = "L" if image.mode in _GREY_MODES else "RGB"
    if image.mode in ("RGB", "L") and not image.has_transparency_data:
        return image
    if not image.has_transparency_data:
        return image.convert(target)
    with_alpha = image.convert("RGBA")
    white = Image.new("RGBA", with_alpha.size, "white")
    return Image.alpha_composite(white, with_alpha).convert(target)


def inverted_inks(image: Image.Image) -> Image.Image:
    """A CMYK picture with every ink turned round."""
    return ImageChops.invert(image)


def capped(image: Image.Image, max_shorter_side: int) -> Image.Image:
    """The picture with its shorter side at most `max_shorter_side` pixels (Lanczos); 0 means no cap."""
    shorter = min(image.size)
    if max_shorter_side == 0 or shorter <= max_shorter_side:
        return image
    width, height = (max(1, round(side * max_shorter_side / shorter)) for side in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def encoded(image: Image.Image, quality: int, profile: bytes | None) -> bytes:
    """A baseline JPEG at `quality` with full colour resolution (4:4:4) and the colour profile, where it fits.

    Raises OSError or ValueError when libjpeg refuses.
    """
    colour_space = {"RGB": b"RGB ", "L": b"GRAY"}[image.mode]
    # ICC.1 7.2.6: bytes 16 to 19 of a profile name the colour space it is for.
    keep = profile if profile and profile[16:20] == colour_space else None
    out = io.BytesIO()
    clean = Image.frombytes(image.mode, image.size, image.tobytes())  # no EXIF, no comments of the source
    clean.save(out, "JPEG", quality=quality, subsampling=0, icc_profile=keep)
    return out.getvalue()


def difference_hash(image: Image.Image) -> int:
    """64 bits, row by row: whether each of 9 x 8 grey cells is darker than its right neighbour."""
    cells = image.convert("L").resize((9, 8), Image.Resampling.BOX).tobytes()
    value = 0
    for row in range(8):
        for column in range(8):
            at = row * 9 + column
            value = value << 1 | (cells[at] < cells[at + 1])
    return value
