"""The own JPEG decoder: libjpeg-turbo's planes to the last bit, its verdicts on damaged files, cuts at every offset."""

import functools
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from jpeg_blocks import first_damage
from jpeg_corpus import FACTORS, damaged, hostile, ordinary, segment
from jpeg_files import encode_with, jpeg, picture, sampled_jpeg, segments
from trainer import _native
from trainer.data import native

FILES = 2400
NONE = (0.0, 0.0, 1.0, 1.0)


@functools.cache
def files() -> tuple[tuple[str, bytes], ...]:
    return tuple(ordinary(FILES))


def own(content: bytes, side: int = 8, instructions: str = "baseline") -> tuple[list[NDArray[np.uint8]], str] | None:
    return _native.own_planes(np.frombuffer(content, np.uint8), side, instructions)


def verdict(content: bytes) -> str | None:
    """The own decoder's status; None: not one of its files."""
    made = own(content)
    return made and made[1]


def samples(
    contents: Sequence[bytes], boxes: NDArray[np.float64], size: int, *, which: NDArray[np.int64] | None = None,
    folder: Path, decoder: str = "", exact: bool = False,
) -> tuple[NDArray[np.uint8], list[str]]:  # fmt: skip
    """Samples uint8 [n, 3, size, size] of `boxes` and their statuses: of each content, or of `contents[which]`."""
    which = np.arange(len(contents)) if which is None else which
    path = folder / "contents"
    path.write_bytes(b"".join(contents))
    length = np.array([len(content) for content in contents])
    places = native.Places(np.zeros(len(which), np.int32), (np.cumsum(length) - length)[which], length[which])
    cuts = native.Cuts(np.zeros((len(which), 2), np.int32), boxes, np.zeros(len(which), np.uint8))
    out, statuses = np.empty((len(which), 3, size, size), np.uint8), np.empty(len(which), np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERNIGHT_DECODER", decoder)
        pool = native.open_pool(1)
        native.wait(native.submit(pool, native.open_reader([path]), places, cuts, out, statuses, exact=exact))
        pool.close()
    return out, [native.STATUSES[status] for status in statuses]


@pytest.mark.parametrize("instructions", _native.INSTRUCTION_SETS)
@pytest.mark.parametrize("eighths", [8, 4, 2, 1])
def test_planes_are_libjpegs_on_over_two_thousand_files(eighths: int, instructions: str) -> None:
    compared = set()
    for name, content in files():
        planes, status = _native.reference_planes(np.frombuffer(content, np.uint8), eighths)
        assert status == "ok"
        made = {side: own(content, side, instructions) for side, _ in planes}
        for component, (side, expected) in enumerate(planes):
            found = made[side]
            assert found is not None, name
            assert found[1] == "ok", name
            high, wide = expected.shape
            np.testing.assert_array_equal(found[0][component][:high, :wide], expected, name)
        compared.add(name.partition(" (")[0])
    assert compared == {"4:4:4", "4:2:2", "4:2:0", "grey", *FACTORS}


@pytest.mark.parametrize("restarts", [0, 1, 3, 4])
@pytest.mark.parametrize("scale", [1, 2, 4, 8])
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0", "4:4:0", "grey", "coarse luma"])
def test_a_crop_at_every_offset_modulo_32_is_a_cut_out_of_the_whole(
    sampling: str, scale: int, restarts: int, tmp_path: Path
) -> None:
    pixels = picture(5, 128, 128)
    if sampling in FACTORS:
        content = encode_with(pixels, FACTORS[sampling], restart_interval=restarts)
    else:
        content = sampled_jpeg(pixels, sampling, restart_marker_blocks=restarts)
    whole, _ = samples([content], np.array([[0.0, 0, 128, 128]]), 128 // scale, folder=tmp_path)
    offsets = np.arange(0, 32, scale)
    left, top = (grid.ravel() for grid in np.meshgrid(offsets, offsets))
    size = 40 // scale
    boxes = np.stack([left, top, left + 40, top + 40], axis=1).astype(float)
    cuts, statuses = samples([content], boxes, size, which=np.zeros(len(boxes), np.int64), folder=tmp_path)
    assert set(statuses) == {"ok"}
    for cut, x, y in zip(cuts, left // scale, top // scale, strict=True):
        np.testing.assert_array_equal(cut, whole[0, :, y : y + size, x : x + size], f"{x, y}")


@functools.cache
def broken() -> tuple[bytes, ...]:
    valid = [content for _, content in files() if len(content) < 2500][:400]
    return tuple(damaged(valid, 12_000, 5)) + tuple(content for _, content in hostile(10))


def whole_boxes(contents: Sequence[bytes], folder: Path) -> NDArray[np.float64]:
    """The box of each picture as its header says; one pixel where none can be read."""
    path = folder / "headers"
    path.write_bytes(b"".join(contents))
    length = np.array([len(content) for content in contents])
    places = native.Places(np.zeros(len(contents), np.int32), np.cumsum(length) - length, length)
    pool = native.open_pool(1)
    dimensions, _ = native.read_dimensions(pool, native.open_reader([path]), places)
    pool.close()
    return np.concatenate([np.zeros_like(dimensions), np.maximum(dimensions, 1)], axis=1).astype(float)


def test_damaged_files_are_judged_as_libjpeg_judges_them_or_more_strictly(tmp_path: Path) -> None:
    boxes = whole_boxes(broken(), tmp_path)
    _, mine = samples(broken(), boxes, 8, folder=tmp_path)
    _, theirs = samples(broken(), boxes, 8, folder=tmp_path, decoder="libjpeg")
    stricter = []
    for content, found, expected in zip(broken(), mine, theirs, strict=True):
        if found != expected:
            assert (found, expected) == ("corrupt", "ok")
            stricter.append(first_damage(content))
    # libjpeg says nothing of blocks that are too long, nor, where many bytes are left, of bits that are no code.
    assert set(stricter) == {"overrun", "no code"}
    assert {"ok", "corrupt", "truncated", "unsupported", "not-a-jpeg", "too-large"} <= set(mine)


def test_a_damaged_file_gives_one_verdict_whatever_was_read_before(tmp_path: Path) -> None:
    content = jpeg(picture(1, 60, 50), optimize=True)
    at = {marker: (at, len(payload) + 4) for marker, at, payload in segments(content)}
    without = [content[: at[marker][0]] + content[sum(at[marker]) :] for marker in (0xDB, 0xC4)]
    alone = [samples([bad], np.array([[0.0, 0, 60, 50]]), 8, folder=tmp_path)[1][0] for bad in without]
    after = [
        samples([content, bad], np.array([[0.0, 0, 60, 50]] * 2), 8, folder=tmp_path, exact=True)[1][1]
        for bad in without
    ]
    assert alone == after
    assert alone[0] == "corrupt"


def test_a_file_without_its_end_marker_is_truncated() -> None:
    content = jpeg(picture(1))
    assert verdict(content) == "ok"
    assert verdict(content[:-2]) == "truncated"
    assert verdict(content[:-2] + b"\xff") == "truncated"


def test_bytes_after_the_end_and_padding_before_it_do_no_harm() -> None:
    content = jpeg(picture(1))
    assert verdict(content + b"more") == "ok"
    assert verdict(content[:-2] + b"\xff" * 100 + b"\xd9") == "ok"


def restarts(content: bytes) -> list[int]:
    return [at for at in range(len(content) - 1) if content[at] == 0xFF and 0xD0 <= content[at + 1] <= 0xD7]


def test_restart_markers_out_of_order_are_left_to_libjpeg() -> None:
    content = bytearray(jpeg(picture(1), restart_marker_rows=1))
    content[restarts(content)[1] + 1] = 0xD5
    assert verdict(bytes(content)) is None


def test_a_missing_interval_is_corrupt() -> None:
    content = jpeg(picture(1), restart_marker_rows=1)
    assert verdict(content[: restarts(content)[-1]] + b"\xff\xd9") == "corrupt"


@pytest.mark.parametrize("width", [16, 90, 220])
def test_an_interval_that_ends_early_is_corrupt_even_where_the_crop_ends_before_it(width: int, tmp_path: Path) -> None:
    content = jpeg(picture(1, 220, 70), restart_marker_rows=1)
    first = restarts(content)[0]
    begin = max(at + 4 + len(payload) for marker, at, payload in segments(content) if marker == 0xDA)
    shorter = content[: begin + 4] + content[first:]  # four bytes of the first row
    box = np.array([[0.0, 0, width, 12]])
    assert samples([shorter], box, 8, folder=tmp_path)[1] == ["corrupt"]
    assert samples([shorter], np.array([[0.0, 40, width, 70]]), 8, folder=tmp_path)[1] == ["ok"]  # jumped over


def test_a_table_whose_code_is_all_ones_is_left_to_libjpeg_which_refuses_it() -> None:
    content = jpeg(picture(1))
    at = next(at for marker, at, _ in segments(content) if marker == 0xDA)
    table = segment(0xC4, b"\x10" + bytes([2] + [0] * 15) + b"\x00\x01")
    assert verdict(content[:at] + table + content[at:]) is None


RENDER = """
import hashlib, sys
from pathlib import Path
import numpy as np
from trainer import _native
from trainer.data import native
folder = Path(sys.argv[1])
paths = sorted(folder.glob("*.jpg"))
pool, reader = native.open_pool(1), native.open_reader(paths)
n = len(paths)
places = native.Places(np.arange(n, dtype=np.int32), np.zeros(n, np.int64), np.array([p.stat().st_size for p in paths]))
dimensions, _ = native.read_dimensions(pool, reader, places)
edges = np.random.default_rng(1).uniform(0, 1, (n, 2, 2))
edges.sort(axis=2)
scaled = (edges * dimensions[:, :, None]).transpose(0, 2, 1).reshape(n, 4)
scaled[:, 2:] += 1e-9
scaled[:, 2:] = np.minimum(scaled[:, 2:], dimensions)
digest = hashlib.sha256()
for size in (8, 33, 64):
    for kind in (np.uint8, np.float32, np.float16, np.uint16):
        for last in (False, True):
            out = np.empty((n, size, size, 3) if last else (n, 3, size, size), kind)
            statuses = np.empty(n, np.uint8)
            flips = (np.arange(n) % 2).astype(np.uint8)
            cuts = native.Cuts(np.zeros((n, 2), np.int32), scaled, flips)
            native.wait(native.submit(pool, reader, places, cuts, out, statuses, exact=False, channels_last=last,
                                      normalisation=native.Normalisation((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))))
            assert not statuses.any()
            digest.update(out.tobytes())
print(digest.hexdigest())
"""


def test_samples_are_the_same_bits_with_the_plain_kernels_as_with_the_best(tmp_path: Path) -> None:
    chosen = [content for _, content in files()[:240]]
    for number, content in enumerate(chosen):
        (tmp_path / f"{number:03d}.jpg").write_bytes(content)
    digests = set()
    for forced in ({}, {"OVERNIGHT_SIMD": "baseline"}):
        ran = subprocess.run(
            [sys.executable, "-c", RENDER, str(tmp_path)], env={**os.environ, **forced}, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        digests.add(ran.stdout.strip())
    assert len(digests) == 1
    assert len(digests.pop()) == hashlib.sha256().digest_size * 2


def test_a_hundred_thousand_bad_files_leave_memory_flat(resident_bytes: Callable[[], int], tmp_path: Path) -> None:
    contents = [content for content in broken() if len(content) < 3000][:5000]
    path = tmp_path / "contents"
    path.write_bytes(b"".join(contents))
    length = np.array([len(content) for content in contents])
    n = len(contents)
    places = native.Places(np.zeros(n, np.int32), np.cumsum(length) - length, length)
    cuts = native.Cuts(np.zeros((n, 2), np.int32), np.tile(NONE, (n, 1)), np.zeros(n, np.uint8))
    out, statuses = np.empty((n, 3, 8, 8), np.uint8), np.empty(n, np.uint8)
    pool, reader = native.open_pool(2), native.open_reader([path])
    marks, bad = [], 0
    while bad < 100_000:
        native.wait(native.submit(pool, reader, places, cuts, out, statuses, exact=bool(len(marks) % 2)))
        bad += np.count_nonzero(statuses)
        marks.append(resident_bytes())
    pool.close()
    assert marks[-1] <= marks[len(marks) // 4] * 1.01
