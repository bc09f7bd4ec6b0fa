"""Faults of PNG and WebP files that Pillow would pass over in silence."""

import zlib

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


class Truncated(Exception):
    """The file ends before its container does."""


class Damaged(Exception):
    """A checksum does not fit."""


def check(data: bytes) -> None:
    """Check the container of a PNG or WebP file; other bytes pass. Raises Truncated or Damaged."""
    if data.startswith(PNG_SIGNATURE):
        _check_png(data)
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP" and int.from_bytes(data[4:8], "little") + 8 > len(data):
        raise Truncated("the file is shorter than its RIFF header says")


def png_bit_depth(data: bytes) -> int:
    """Bits a sample, from the header chunk, which always comes first (PNG specification, 11.2.1)."""
    return data[24]


def _check_png(data: bytes) -> None:
    """Each chunk is length, name, body, CRC-32 of name and body; Pillow skips the CRC of picture data."""
    position = len(PNG_SIGNATURE)
    name = b""
    while name != b"IEND":
        length = int.from_bytes(data[position : position + 4])
        end = position + 12 + length
        if end > len(data):
            raise Truncated(f"the file ends at byte {len(data)}, before its IEND chunk")
        name = data[position + 4 : position + 8]
        if zlib.crc32(data[position + 4 : end - 4]) != int.from_bytes(data[end - 4 : end]):
            raise Damaged(f"the checksum of the chunk at byte {position} is wrong")
        position = end
