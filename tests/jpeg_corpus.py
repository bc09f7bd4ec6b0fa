"""Many small JPEG files: ordinary ones of every kind that the own decoder reads, and hostile ones made of them.

`python tests/jpeg_corpus.py FOLDER [COUNT]` writes them as files, and tars of theirs: the fuzzer's seeds.
"""

import io
import struct
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from jpeg_files import encode_with, jpeg, patched, photograph, picture, segments

PILLOWS = ["4:4:4", "4:2:2", "4:2:0", "grey"]
FACTORS = {
    "4:4:0": [(1, 2), (1, 1), (1, 1)],
    "coarse luma": [(1, 1), (2, 2), (2, 2)],
    "mixed": [(2, 2), (1, 2), (2, 1)],
    "grey of 2x2": [(2, 2)],
    "all 2x1": [(2, 1), (2, 1), (2, 1)],
    "wide red": [(2, 1), (1, 1), (2, 1)],
}
"""Sampling factors that Pillow does not write and the own decoder reads."""


def ordinary(count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """`count` valid baseline files, with what is special about each: sides of 1 to 130 pixels, every sampling and
    quality, standard and optimized tables, restart intervals of 1, 3, 5, a row and odd ones."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        if number % 4 == 3:
            yield _rare(rng)
            continue
        pixels = _pixels(rng, int(rng.integers(1, 131)), int(rng.integers(1, 131)))
        sampling, quality = str(rng.choice(PILLOWS)), int(rng.integers(1, 101))
        restarts = dict([_RESTARTS[rng.integers(len(_RESTARTS))]] if number % 2 else [])
        optimize = bool(rng.integers(2))
        image = Image.fromarray(pixels)
        if sampling == "grey":
            content = jpeg(image.convert("L"), quality=quality, optimize=optimize, **restarts)
        else:
            content = jpeg(image, quality=quality, optimize=optimize, subsampling=sampling, **restarts)
        yield f"{sampling} {image.size} q{quality} optimize={optimize} {restarts}", content


_RESTARTS = [("restart_marker_blocks", n) for n in (1, 3, 5, 7, 11)] + [("restart_marker_rows", n) for n in (1, 1, 2)]


def _rare(rng: np.random.Generator) -> tuple[str, bytes]:
    name = str(rng.choice(sorted(FACTORS)))
    pixels = _pixels(rng, int(rng.integers(1, 50)), int(rng.integers(1, 50)))
    quality, interval = int(rng.integers(1, 101)), int(rng.choice([0, 0, 1, 2, 3, 5]))
    content = encode_with(pixels, FACTORS[name], quality=quality, restart_interval=interval)
    return f"{name} {pixels.shape[1::-1]} q{quality} interval {interval}", content


def _pixels(rng: np.random.Generator, width: int, height: int) -> NDArray[np.uint8]:
    seed = int(rng.integers(1 << 30))
    match rng.integers(5):
        case 0:  # the largest coefficients there are
            return (rng.integers(0, 2, (height, width, 3)) * 255).astype(np.uint8)
        case 1:
            return np.broadcast_to(rng.integers(0, 256, 3, dtype=np.uint8), (height, width, 3)).copy()
        case 2:
            return photograph(seed, width, height)
        case _:
            return picture(seed, width, height)


def segment(marker: int, payload: bytes) -> bytes:
    """One marker segment."""
    return struct.pack(">BBH", 0xFF, marker, len(payload) + 2) + payload


def _before_scan(content: bytes, inserted: bytes) -> bytes:
    at = next(at for marker, at, _ in segments(content) if marker == 0xDA)
    return content[:at] + inserted + content[at:]


def _with_length(content: bytes, marker: int, length: int) -> bytes:
    at = next(at for found, at, _ in segments(content) if found == marker)
    return content[: at + 2] + struct.pack(">H", length) + content[at + 4 :]


def _sized(content: bytes, width: int, height: int) -> bytes:
    at = next(at for marker, at, _ in segments(content) if marker == 0xC0)
    return content[: at + 5] + struct.pack(">HH", height, width) + content[at + 9 :]


def _data_begins(content: bytes) -> int:
    return max(at + 4 + len(payload) for marker, at, payload in segments(content) if marker == 0xDA)


def _with_table(kind: int, counts: list[int], symbols: bytes) -> Callable[[bytes], bytes]:
    table = bytes([kind]) + bytes(counts + [0] * (16 - len(counts))) + symbols
    return lambda content: _before_scan(content, segment(0xC4, table))


def _longest_values(content: bytes) -> bytes:
    """Every DC difference is the largest there is: all of its one code's bits are set, as those of its value."""
    changed = _before_scan(content, segment(0xC4, b"\x00" + bytes([1] + [0] * 15) + b"\x0b"))
    changed = _before_scan(changed, segment(0xC4, b"\x10" + bytes([1] + [0] * 15) + b"\x00"))
    begin = _data_begins(changed)
    return changed[:begin] + b"\x7f\xfc" * 3000 + b"\xff\xd9"


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "no end marker": lambda content: content[:-2],
    "half of it": lambda content: content[: len(content) // 2],
    "header only": lambda content: content[: _data_begins(content)],
    "no data": lambda content: content[: _data_begins(content)] + b"\xff\xd9",
    "table cut": lambda content: _with_length(content, 0xC4, 20),
    "length too long": lambda content: _with_length(content, 0xDB, 0xFFFF),
    "length of nothing": lambda content: _with_length(content, 0xDB, 2),
    "length of less": lambda content: _with_length(content, 0xC0, 0),
    "largest sides": lambda content: _sized(content, 65535, 65535),
    "widest": lambda content: _sized(content, 65500, 1),
    "highest": lambda content: _sized(content, 1, 65500),
    "larger than its data": lambda content: _sized(content, 1000, 900),
    "no width": lambda content: _sized(content, 0, 9),
    "height told later": lambda content: _sized(content, 9, 0)[:-2] + segment(0xDC, b"\x00\x09") + b"\xff\xd9",
    "more codes than room": _with_table(0x00, [3, 200, 3], bytes(206)),
    "a code of ones": _with_table(0x10, [2], bytes(2)),
    "no codes": _with_table(0x00, [0], b""),
    "values too long": _with_table(0x10, [1, 1, 1], b"\x0f\xff\x0b"),
    "differences too long": _with_table(0x00, [1, 1, 1], b"\x0f\xff\x0c"),
    "endless runs": _with_table(0x10, [1, 1], b"\xf0\xf1"),
    "longest values": _longest_values,
    "quantizers of zero": lambda content: _before_scan(
        content, segment(0xDB, b"\x00" + bytes(64) + b"\x01" + bytes(64))
    ),
    "quantizers of 16 bits": lambda content: _before_scan(content, segment(0xDB, b"\x10" + b"\xff" * 128)),
    "restarts unsaid": lambda content: content[:-40] + b"\xff\xd0" + content[-40:],
    "restarts unmade": lambda content: _before_scan(content, segment(0xDD, b"\x00\x01")),
    "restart flood": lambda content: (
        _before_scan(content, segment(0xDD, b"\x00\x01"))[:-2]
        + b"".join(bytes([0xFF, 0xD0 + n % 8]) for n in range(5000))
        + b"\xff\xd9"
    ),
    "padding flood": lambda content: content[:-2] + b"\xff" * 5000 + b"\xd9",
    "marker in the data": lambda content: content[:-30] + b"\xff\xc4" + content[-30:],
    "thousands of scans": lambda content: (
        content[:-2] + b"".join(segment(0xDA, b"\x01\x01\x00\x00\x3f\x00") + b"\x00" for _ in range(3000)) + b"\xff\xd9"
    ),
    "two pictures": lambda content: content[:-2] + content,
    "twelve bits": lambda content: patched(content, 0xC0, 0, 12),
    "no components": lambda content: patched(content, 0xC0, 5, 0),
    "factor of zero": lambda content: patched(content, 0xC0, 7, 0x01),
    "factor of fifteen": lambda content: patched(content, 0xC0, 7, 0xF1),
    "table of no number": lambda content: patched(content, 0xDA, 2, 0x77),
    "quantizers of no number": lambda content: patched(content, 0xC0, 8, 9),
    "comment flood": lambda content: _before_scan(content, segment(0xFE, bytes(60000)) * 3),
    "zeros for data": lambda content: content[: _data_begins(content)] + bytes(3000) + b"\xff\xd9",
    "ones for data": lambda content: content[: _data_begins(content)] + b"\xff\x00" * 3000 + b"\xff\xd9",
}
"""Ways to make a hostile file of a valid one."""


def hostile(count: int = 3, seed: int = 1) -> Iterator[tuple[str, bytes]]:
    """Every hostile kind, of `count` valid files each."""
    for name, content in ordinary(count, seed):
        for kind, change in HOSTILE.items():
            yield f"{kind} ({name})", change(content)


def damaged(contents: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """`count` files cut off anywhere, with one to four bits flipped, bytes changed, left out or doubled."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        content = bytearray(contents[number % len(contents)])
        where = rng.integers(2, len(content), 4)
        match number // len(contents) % 5:
            case 0:
                del content[where[0] :]
            case 1:
                content[where[0]] ^= 1 << rng.integers(8)
            case 2:
                for at in where:
                    content[at] ^= 1 << rng.integers(8)
            case 3:
                content[where[0]] = rng.integers(256)
            case _:
                first, last = sorted(where[:2])
                content[first:last] = content[first:last] * int(rng.integers(0, 3))
        yield bytes(content)


def first_scan_only(progressive: bytes) -> bytes:
    """The DC scan of a progressive file, which names tables that there are not for the AC coefficients."""
    first = progressive.index(b"\xff\xda")
    second = progressive.index(b"\xff\xc4", first)
    return patched(progressive[:second] + b"\xff\xd9", 0xDA, 2, 0x0F)


def tars() -> Iterator[bytes]:
    """Tar files of every format: long names, names beyond ASCII, links, folders, sizes beyond 8 GiB, cut ones."""
    for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
            for name in (
                "a.jpg",
                "folder/" + "long/" * (20 if form == tarfile.USTAR_FORMAT else 60) + "b.jpg",
                "ü.txt",
            ):
                info = tarfile.TarInfo(name)
                info.size = len(name)
                tar.addfile(info, io.BytesIO(name.encode()[: info.size]))
            for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE):
                info = tarfile.TarInfo("other")
                info.type, info.linkname = kind, "a.jpg"
                tar.addfile(info)
        yield buffer.getvalue()
        yield buffer.getvalue()[:1700]
    for size in (1 << 33, (1 << 62) + 5):
        info = tarfile.TarInfo("large.bin")
        info.size = size
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
            yield info.tobuf(form) + bytes(2048)


def write(folder: Path, contents: list[bytes], ending: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(contents):
        (folder / f"{number:05d}.{ending}").write_bytes(content)


def main() -> None:
    folder = Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    others = [content for _, content in hostile()]
    progressive = jpeg(picture(1, 40, 30), progressive=True)
    others += [progressive, first_scan_only(progressive), jpeg(Image.fromarray(picture(2, 20, 20)).convert("CMYK"))]
    write(folder / "ordinary", [content for _, content in ordinary(count)], "jpg")
    write(folder / "hostile", others, "jpg")
    write(folder / "tar", list(tars()), "tar")
    print(f"{count} ordinary and {len(others)} other JPEG files in {folder}")


if __name__ == "__main__":
    main()
