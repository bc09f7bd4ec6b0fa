"""JPEG files of every kind for tests: Pillow's, and those that Pillow cannot write."""

import io
import struct
from collections.abc import Iterator
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
    planes = np.moveaxis(np.asarray(Image.fromarray(pixels).convert("YCbCr"), dtype=np.float64), 2, 0)
    height, width = planes.shape[1:]
    rows, columns = -(-height // (8 * down)), -(-width // (8 * across))
    padded = np.pad(planes, ((0, 0), (0, rows * 8 * down - height), (0, columns * 8 * across - width)), mode="edge")
    chroma = padded.reshape(3, rows * 8, down, columns * 8, across).mean((2, 4))
    template = jpeg(pixels[:8, :8], subsampling="4:4:4")
    tables = [payload for marker, _, payload in segments(template) if marker == 0xC4]
    quantisers = [payload for marker, _, payload in segments(template) if marker == 0xDB]
    steps = np.frombuffer(b"".join(quantisers), dtype=np.uint8).reshape(2, 65)[:, 1:].astype(float)
    blocks = [
        _blocks(padded[0], down, across, steps[0]),
        _blocks(chroma[1], 1, 1, steps[1]),
        _blocks(chroma[2], 1, 1, steps[1]),
    ]
    frame = struct.pack(">BHHB", 8, height, width, 3) + bytes([1, across << 4 | down, 0, 2, 0x11, 1, 3, 0x11, 1])
    scan = bytes([3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0])
    header = [(0xDB, payload) for payload in quantisers] + [(0xC0, frame)]
    header += [(0xC4, payload) for payload in tables] + [(0xDA, scan)]
    parts = [struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload for marker, payload in header]
    return b"\xff\xd8" + b"".join(parts) + _entropy_coded(blocks, _codes(b"".join(tables))) + b"\xff\xd9"


def _blocks(plane: NDArray[np.float64], down: int, across: int, steps: NDArray[np.float64]) -> NDArray[np.int64]:
    """Quantised coefficients in zigzag order, [MCU row, MCU column, block of the MCU, 64]."""
    rows, columns = plane.shape[0] // (8 * down), plane.shape[1] // (8 * across)
    split = (plane - 128).reshape(rows, down, 8, columns, across, 8).transpose(0, 3, 1, 4, 2, 5)
    coefficients = (_DCT @ split @ _DCT.T).reshape(rows, columns, down * across, 64)[..., _ZIGZAG]
    return np.rint(coefficients / steps).astype(np.int64)


def _codes(tables: bytes) -> dict[int, dict[int, str]]:
    """Of each Huffman table (class << 4 | number): symbol to code, as text of 0 and 1."""
    found: dict[int, dict[int, str]] = {}
    while tables:
        counts, symbols = tables[1:17], iter(tables[17 : 17 + sum(tables[1:17])])
        code, table = 0, found.setdefault(tables[0], {})
        for length, count in enumerate(counts, start=1):
            for _ in range(count):
                table[next(symbols)] = f"{code:0{length}b}"
                code += 1
            code <<= 1
        tables = tables[17 + sum(counts) :]
    return found


def _entropy_coded(components: list[NDArray[np.int64]], codes: dict[int, dict[int, str]]) -> bytes:
    bits: list[str] = []
    before = [0] * len(components)
    rows, columns = components[0].shape[:2]
    for row in range(rows):
        for column in range(columns):
            for number, blocks in enumerate(components):
                table = min(number, 1)
                for block in blocks[row, column].tolist():
                    bits += _block_bits(block, block[0] - before[number], codes[table], codes[0x10 | table])
                    before[number] = block[0]
    text = "".join(bits)
    text += "1" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big").replace(b"\xff", b"\xff\x00")


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
