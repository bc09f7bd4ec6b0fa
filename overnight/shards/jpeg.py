"""The marker structure of a JPEG file, without decoding it (ISO/IEC 10918-1, annex B)."""

from dataclasses import dataclass

SOI, EOI, SOS, APP2, APP14 = 0xD8, 0xD9, 0xDA, 0xE2, 0xEE
# SOF0..SOF15 without DHT (C4), JPG (C8) and DAC (CC), which share the range.
FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# Baseline, extended and progressive Huffman coding: what every decoder reads.
COMMON_FRAMES = frozenset({0xC0, 0xC1, 0xC2})
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
# In coded data FF is followed by 00 (a plain FF) or by D0..D7 (a restart); anything else is the next marker,
# which may have more FF before it.
_CODED = frozenset({0x00, *range(0xD0, 0xD8)})


class Truncated(Exception):
    """The file ends before its EOI marker."""


class Malformed(Exception):
    """The bytes are not the marker structure of a JPEG."""


@dataclass(frozen=True)
class Structure:
    """What the markers tell.

    `frame` is the last byte of the SOFn marker, `precision` bits a sample, `adobe_transform` the last byte of
    Adobe's APP14 segment (0 RGB or CMYK, 1 YCbCr, 2 YCCK; None without the segment), `multi_picture` the (start, end)
    of APP2 "MPF" segments, `end` the offset just behind EOI.
    """

    frame: int
    precision: int
    width: int
    height: int
    components: int
    adobe_transform: int | None
    multi_picture: tuple[tuple[int, int], ...]
    end: int


def structure(data: bytes) -> Structure:
    """Walk the markers of `data` from SOI to EOI.

    Raises Truncated when the bytes end first, Malformed when they are something else.
    """
    if data[:2] != b"\xff\xd8":
        raise Malformed("no SOI marker at the start")
    frame: tuple[int, int, int, int, int] | None = None
    transform = None
    multi_picture = []
    scanned = False
    position = 2
    while True:
        start, marker, position = _marker(data, position)
        if marker == EOI:
            break
        if marker in _WITHOUT_LENGTH:
            continue
        end = _segment_end(data, position)
        if marker in FRAME_MARKERS and frame is None:
            frame = _frame(marker, data[position:end])
        elif marker == APP14 and data[position + 2 : position + 7] == b"Adobe" and end - position >= 14:
            transform = data[position + 13]
        elif marker == APP2 and data[position + 2 : position + 6] == b"MPF\0":
            multi_picture.append((start, end))
        elif marker == SOS:
            scanned = True
            end = _coded_data_end(data, end)
        position = end
    if frame is None or not scanned:
        raise Malformed("no picture before the EOI marker")
    return Structure(*frame, transform, tuple(multi_picture), position)


def first_picture(data: bytes, found: Structure) -> bytes:
    """The bytes of the first picture of a multi-picture file: up to its EOI, without the list of the others."""
    parts = []
    position = 0
    for start, end in found.multi_picture:
        parts.append(data[position:start])
        position = end
    return b"".join([*parts, data[position : found.end]])


def _marker(data: bytes, position: int) -> tuple[int, int, int]:
    """Start, code and end of the marker at `position`; fill bytes (FF) may stand before the code."""
    start = position
    if position < len(data) and data[position] != 0xFF:
        raise Malformed(f"no marker at byte {position}")
    while position < len(data) and data[position] == 0xFF:
        position += 1
    if position >= len(data):
        raise Truncated(f"the file ends at byte {len(data)} without an EOI marker")
    return start, data[position], position + 1


def _segment_end(data: bytes, position: int) -> int:
    length = int.from_bytes(data[position : position + 2])
    if position + max(length, 2) > len(data):
        raise Truncated(f"a segment at byte {position} is longer than the file")
    if length < 2:
        raise Malformed(f"a segment at byte {position} has length {length}")
    return position + length


def _coded_data_end(data: bytes, position: int) -> int:
    while (position := data.find(b"\xff", position)) >= 0:
        if data[position + 1 : position + 2] and data[position + 1] not in _CODED:
            return position
        position += 2
    raise Truncated(f"the file ends at byte {len(data)} without an EOI marker")


def _frame(marker: int, segment: bytes) -> tuple[int, int, int, int, int]:
    if len(segment) < 8:
        raise Malformed("the frame header is too short")
    height, width = int.from_bytes(segment[3:5]), int.from_bytes(segment[5:7])
    return marker, segment[2], width, height, segment[7]
