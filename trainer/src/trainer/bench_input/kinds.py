"""Why the own decoder leaves a file to libjpeg: what its frame header says (ITU T.81, annex B)."""

from collections.abc import Iterator

_BASELINE = (0xC0, 0xC1)
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})  # markers without a length


def why_left_to_libjpeg(file: bytes) -> str:
    """One or two words for a file that the own decoder does not read."""
    adobe = None
    for marker, body in _segments(file):
        if marker == 0xEE and body[:5] == b"Adobe" and len(body) >= 12:
            adobe = body[11]
        if marker in _FRAMES:
            return _of_frame(marker, body, adobe)
    return "no frame"


def _of_frame(marker: int, body: bytes, adobe: int | None) -> str:
    if marker >= 0xC9:
        return "arithmetic"
    if marker == 0xC2:
        return "progressive"
    if marker not in _BASELINE:
        return "lossless or hierarchical"
    if len(body) < 6 or body[0] != 8:
        return "not 8 bits"
    if body[5] not in (1, 3):
        return "CMYK" if body[5] == 4 else f"{body[5]} components"
    if body[5] == 3 and (adobe == 0 or body[6:15:3] == b"RGB"):
        return "RGB"
    return "unusual sampling, tables or scans"


def _segments(file: bytes) -> Iterator[tuple[int, bytes]]:
    """Markers with their bodies, up to the coded data."""
    at = 2
    while at + 4 <= len(file):
        if file[at] != 0xFF:
            return
        marker = file[at + 1]
        if marker == 0xFF or marker in _ALONE:
            at += 1 if marker == 0xFF else 2
            continue
        length = int.from_bytes(file[at + 2 : at + 4], "big")
        yield marker, file[at + 4 : at + 2 + length]
        if marker == 0xDA:
            return
        at += 2 + length
