"""JPEG files of every kind for tests: Pillow's, and those that Pillow cannot write."""

import functools
import io
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SAMPLINGS = {
    "4:4:4": (1, 1),
    "4:2:2": (2, 1),
    "4:2:0": (2, 2),
    "4:4:0": (1, 2),
    "4:1:1": (4, 1),
    "grey": (0, 0),
}
"""Sampling factors of luma over chroma, across and down."""

_ZIGZAG = np.argsort([(y + x) * 64 + (y if (x + y) % 2 else x) * 8 for y in range(8) for x in range(8)], kind="stable")
_DCT = np.array(
    [[np.sqrt((1 + (u > 0)) / 8) * np.cos((2 * x + 1) * u * np.pi / 16) for x in range(8)] for u in range(8)]
)


def picture(seed: int, width: int = 90, height: int = 70) -> NDArray[np.uint8]:
    """A smooth random picture with edges and noise, uint8 [height, width, 3]."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (max(height // 8, 2), max(width // 8, 2), 3), dtype=np.uint8)
    smooth = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC))
    return np.clip(smooth + rng.normal(0, 6, (height, width, 3)), 0, 255).astype(np.uint8)


def photograph(seed: int, width: int, height: int) -> NDArray[np.uint8]:
    """A picture with detail at every scale, less of it the finer, as photographs have; uint8 [height, width, 3]."""
    rng = np.random.default_rng(seed)
    total = np.full((height, width, 3), 128.0)
    for step in (256, 128, 64, 32, 16, 8, 4, 2):
        shape = (height // step + 1, width // step + 1)
        coarse = rng.normal(0, 1, (*shape, 1)) + rng.normal(0, 0.4, (*shape, 3))  # colours vary less than brightness
        for channel in range(3):
            image = Image.fromarray(coarse[..., channel].astype(np.float32))
            total[..., channel] += 3.2 * step**0.5 * np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))
    return np.clip(total, 0, 255).astype(np.uint8)


def jpeg(pixels: NDArray[np.uint8] | Image.Image, **options: Any) -> bytes:
    """`pixels` as JPEG bytes; options as Pillow's."""
    image = pixels if isinstance(pixels, Image.Image) else Image.fromarray(pixels)
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **{"quality": 90, **options})
    return buffer.getvalue()


def sampled_jpeg(pixels: NDArray[np.uint8], sampling: str, **options: Any) -> bytes:
    """`pixels` with the chroma sampling named, by Pillow where it can and by `encode` where not."""
    if sampling == "grey":
        return jpeg(Image.fromarray(pixels).convert("L"), **options)
    if sampling in ("4:4:0", "4:1:1"):
        return encode(pixels, *SAMPLINGS[sampling])
    return jpeg(pixels, subsampling=sampling, **options)


def segments(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(marker, offset, payload) of each segment up to the first scan."""
    at = 2
    while at < len(content):
        marker, length = content[at + 1], struct.unpack(">H", content[at + 2 : at + 4])[0]
        yield marker, at, content[at + 4 : at + 2 + length]
        if marker == 0xDA:
            return
        at += 2 + length


def patched(content: bytes, marker: int, offset: int, value: int) -> bytes:
    """`content` with byte `offset` of the payload of the first segment `marker` set to `value`."""
    at = next(at for found, at, _ in segments(content) if found == marker)
    changed = bytearray(content)
    changed[at + 4 + offset] = value
    return bytes(changed)


def with_frame(content: bytes, marker: int) -> bytes:
    """`content` whose start-of-frame marker (SOF0) says another coding process."""
    at = next(at for found, at, _ in segments(content) if found == 0xC0)
    return content[: at + 1] + bytes([marker]) + content[at + 2 :]


def encode(pixels: NDArray[np.uint8], across: int, down: int) -> bytes:
    """A baseline YCbCr JPEG whose chroma is sampled once for each `across` x `down` pixels."""
    return encode_with(pixels, [(across, down), (1, 1), (1, 1)])


def encode_with(
    pixels: NDArray[np.uint8], factors: Sequence[tuple[int, int]], *, quality: int = 90, restart_interval: int = 0
) -> bytes:
    """A baseline YCbCr JPEG (grey for one pair) whose components have these sampling factors, across and down, with a
    restart marker after every `restart_interval` units."""
    planes = np.moveaxis(np.asarray(Image.fromarray(pixels).convert("YCbCr"), dtype=np.float64), 2, 0)
    quantisers, tables = _tables(quality)
    steps = np.frombuffer(b"".join(quantisers), dtype=np.uint8).reshape(2, 65)[:, 1:].astype(float)
    shapes = [(1, 1)] if len(factors) == 1 else factors  # a scan of one component goes block by block
    most = (max(across for across, _ in shapes), max(down for _, down in shapes))
    blocks = []
    for number, (across, down) in enumerate(shapes):
        sampled = _sampled(planes[number], most, (across, down))
        blocks.append(_blocks(sampled, down, across, steps[min(number, 1)]))
    frame = struct.pack(">BHHB", 8, *pixels.shape[:2], len(factors))
    scan = bytes([len(factors)])
    for number, (across, down) in enumerate(factors, start=1):
        frame += bytes([number, across << 4 | down, min(number - 1, 1)])
        scan += bytes([number, 0x00 if number == 1 else 0x11])
    header = [(0xDB, payload) for payload in quantisers] + [(0xC0, frame)]
    header += [(0xC4, payload) for payload in tables]
    if restart_interval:
        header.append((0xDD, struct.pack(">H", restart_interval)))
    header.append((0xDA, scan + bytes([0, 63, 0])))
    codes = {number: dict(pairs) for number, pairs in huffman_codes(b"".join(tables)).items()}
    parts = [struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload for marker, payload in header]
    coded = _entropy_coded(blocks, codes, restart_interval)
    return b"\xff\xd8" + b"".join(parts) + coded + b"\xff\xd9"


@functools.cache
def _tables(quality: int) -> tuple[list[bytes], list[bytes]]:
    """The two quantization tables and the standard Huffman tables, as segments' payloads."""
    template = list(segments(jpeg(np.zeros((8, 8, 3), np.uint8), subsampling="4:4:4", quality=quality)))
    quantisers = b"".join(payload for marker, _, payload in template if marker == 0xDB)
    return [quantisers[:65], quantisers[65:]], [payload for marker, _, payload in template if marker == 0xC4]


def _sampled(plane: NDArray[np.float64], most: tuple[int, int], factors: tuple[int, int]) -> NDArray[np.float64]:
    """A component's samples, filled up to whole units."""
    height, width = plane.shape
    rows, columns = -(-height // (8 * most[1])), -(-width // (8 * most[0]))
    filled = np.pad(plane, ((0, rows * 8 * most[1] - height), (0, columns * 8 * most[0] - width)), mode="edge")
    across, down = most[0] // factors[0], most[1] // factors[1]
    high, wide = filled.shape[0] // down, filled.shape[1] // across
    means: NDArray[np.float64] = filled.reshape(high, down, wide, across).mean((1, 3))
    return means


def _blocks(plane: NDArray[np.float64], down: int, across: int, steps: NDArray[np.float64]) -> NDArray[np.int64]:
    """Quantised coefficients in zigzag order, [MCU row, MCU column, block of the MCU, 64]."""
    rows, columns = plane.shape[0] // (8 * down), plane.shape[1] // (8 * across)
    split = (plane - 128).reshape(rows, down, 8, columns, across, 8).transpose(0, 3, 1, 4, 2, 5)
    coefficients = (_DCT @ split @ _DCT.T).reshape(rows, columns, down * across, 64)[..., _ZIGZAG]
    return np.rint(coefficients / steps).astype(np.int64)


def huffman_codes(tables: bytes) -> dict[int, list[tuple[int, str]]]:
    """Of each Huffman table (class << 4 | number) in the payload of its segments: symbols with their codes, as text of
    0 and 1. A table that is defined twice is the later one."""
    found: dict[int, list[tuple[int, str]]] = {}
    while tables:
        counts, symbols = tables[1:17], iter(tables[17 : 17 + sum(tables[1:17])])
        code, table = 0, found.setdefault(tables[0], [])
        table.clear()
        for length, count in enumerate(counts, start=1):
            for _ in range(count):
                table.append((next(symbols), f"{code:0{length}b}"))
                code += 1
            code <<= 1
        tables = tables[17 + sum(counts) :]
    return found


def _entropy_coded(
    components: list[NDArray[np.int64]], codes: dict[int, dict[int, str]], restart_interval: int
) -> bytes:
    rows, columns = components[0].shape[:2]
    units = rows * columns
    flat = [blocks.reshape(units, -1, 64) for blocks in components]
    interval = restart_interval or units
    coded = b""
    for begin in range(0, units, interval):
        if begin:
            coded += bytes([0xFF, 0xD0 + (begin // interval - 1) % 8])
        text = "".join(_interval_bits([blocks[begin : begin + interval] for blocks in flat], codes))
        text += "1" * (-len(text) % 8)
        coded += int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\x00")
    return coded


def _interval_bits(components: list[NDArray[np.int64]], codes: dict[int, dict[int, str]]) -> Iterator[str]:
    before = [0] * len(components)
    for unit in range(len(components[0])):
        for number, blocks in enumerate(components):
            table = min(number, 1)
            for block in blocks[unit].tolist():
                yield from _block_bits(block, block[0] - before[number], codes[table], codes[0x10 | table])
                before[number] = block[0]


def _block_bits(block: list[int], difference: int, dc: dict[int, str], ac: dict[int, str]) -> Iterator[str]:
    size = abs(difference).bit_length()
    yield dc[size] + _value_bits(difference, size)
    run = 0
    for value in block[1:]:
        if value == 0:
            run += 1
            continue
        while run > 15:
            yield ac[0xF0]
            run -= 16
        size = abs(value).bit_length()
        yield ac[run << 4 | size] + _value_bits(value, size)
        run = 0
    if run:
        yield ac[0]


def _value_bits(value: int, size: int) -> str:
    return f"{value if value > 0 else value + (1 << size) - 1:0{size}b}" if size else ""
