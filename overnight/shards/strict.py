"""A second opinion on JPEGs: Pillow does not tell when libjpeg only warned and made up the rest of a picture."""

import simplejpeg

PREMATURE = "premature end"
# libjpeg's words (jerror.h) for data that is not all there. Many sound files of old cameras have a few bytes too many
# before the end (marker 0xd9), which changes nothing; before any other marker they mean that data was lost.
_DAMAGE = (PREMATURE, "bad Huffman code", "Inconsistent progression", "Bogus Huffman table", "extraneous bytes")
_HARMLESS = "extraneous bytes before marker 0xd9"


def damage(data: bytes) -> str | None:
    """What libjpeg-turbo says of damage while it reads all coded data of a JPEG; None when it says nothing of it.

    Files that this decoder does not know (odd sampling) give None too.
    """
    try:
        # 1/8 of the size: all data is read, and few pixels are computed.
        simplejpeg.decode_jpeg(data, colorspace="GRAY", min_height=1, min_width=1, strict=True)
    except ValueError as error:
        said = str(error)
        return said if _HARMLESS not in said and any(word in said for word in _DAMAGE) else None
    return None
