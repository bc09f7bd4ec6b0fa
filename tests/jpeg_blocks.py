"""A plain reader of baseline blocks: tells what is wrong with a damaged file's data."""

import re
from collections.abc import Iterator

from jpeg_files import huffman_codes, segments

Codes = dict[str, int]


class Damage(Exception):
    """What is wrong with the coded data."""


def first_damage(content: bytes) -> str:
    """What is wrong first with the data of a baseline file of one scan: "no code", "overrun", "ends early" or ""."""
    tables, data = _tables(content), content[_data_begins(content) :]
    factors, interval, units = _shape(content)
    scan = next(payload for marker, _, payload in segments(content) if marker == 0xDA)
    numbers = [(scan[2 + 2 * k] >> 4, scan[2 + 2 * k] & 15) for k in range(len(factors))]
    blocks = [pair for pair, (across, down) in zip(numbers, factors, strict=True) for _ in range(across * down)]
    try:
        for bits in _intervals(data):
            at = 0
            for _ in range(min(units, interval or units)):
                for dc, ac in blocks:
                    at = _block(bits, at, tables[dc], tables[0x10 | ac])
                if at > len(bits):
                    return "ends early"
            units -= interval or units
    except Damage as damage:
        return str(damage)
    return "ends early" if units > 0 else ""


def _block(bits: str, at: int, dc: Codes, ac: Codes) -> int:
    """Where the block that begins at `at` ends."""
    symbol, at = _symbol(bits, at, dc)
    at += symbol
    length = 1
    while length < 64:
        symbol, at = _symbol(bits, at, ac)
        run, size = symbol >> 4, symbol & 15
        if size == 0 and run != 15:
            return at
        at += size
        length += run + 1
    if length > 64:
        raise Damage("overrun")
    return at


def _symbol(bits: str, at: int, codes: Codes) -> tuple[int, int]:
    for length in range(1, 17):
        if at + length > len(bits):
            raise Damage("ends early")
        found = codes.get(bits[at : at + length])
        if found is not None:
            return found, at + length
    raise Damage("no code")


def _tables(content: bytes) -> dict[int, Codes]:
    tables = b"".join(payload for marker, _, payload in segments(content) if marker == 0xC4)
    return {number: {code: symbol for symbol, code in codes} for number, codes in huffman_codes(tables).items()}


def _shape(content: bytes) -> tuple[list[tuple[int, int]], int, int]:
    """Sampling factors, restart interval, units of the picture."""
    frame = next(payload for marker, _, payload in segments(content) if marker in (0xC0, 0xC1))
    height, width = int.from_bytes(frame[1:3]), int.from_bytes(frame[3:5])
    factors = [(frame[7 + 3 * k] >> 4, frame[7 + 3 * k] & 15) for k in range(frame[5])]
    if len(factors) == 1:
        factors = [(1, 1)]
    interval = [int.from_bytes(payload) for marker, _, payload in segments(content) if marker == 0xDD]
    across, down = (8 * max(pair[axis] for pair in factors) for axis in (0, 1))
    return factors, interval[-1] if interval else 0, -(-width // across) * -(-height // down)


def _data_begins(content: bytes) -> int:
    return max(at + 4 + len(payload) for marker, at, payload in segments(content) if marker == 0xDA)


def _intervals(data: bytes) -> Iterator[str]:
    """The bits between restart markers, up to the next other marker."""
    ends = re.search(rb"\xff+[^\x00\xd0-\xd7\xff]", data)
    for part in re.split(rb"\xff+[\xd0-\xd7]", data[: ends.start()] if ends else data):
        plain = re.sub(rb"\xff+\x00", b"\xff", part)
        yield "".join(f"{byte:08b}" for byte in plain)
