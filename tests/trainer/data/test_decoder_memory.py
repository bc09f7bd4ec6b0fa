"""Memory follows what a file holds, not what its header claims."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from jpeg_files import jpeg, patched, picture
from trainer.data import native

CLAIM = 14_000
"""Pixels a side: 196 million, just below the limit."""

PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from trainer import _native
from trainer.data import native

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

path, action, side = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
pool, before = native.open_pool(1), peak()
if action in ("exact", "fast", "libjpeg"):
    places = native.Places(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([path.stat().st_size]))
    cuts = native.Cuts(np.array([[side, side]], np.int32), np.array([[0.0, 0, side, side]]), np.zeros(1, np.uint8))
    out, statuses = np.empty((1, 3, 32, 32), np.uint8), np.empty(1, np.uint8)
    reader = native.open_reader([path])
    ticket = native.submit(
        pool, reader, places, cuts, out, statuses, exact=action == "exact", planar=action == "fast"
    )
    native.wait(ticket)
    status = native.STATUSES[statuses[0]]
elif action == "rewrite":
    status = _native.rewrite(path.read_bytes(), 1)[1]
else:
    status = _native.reference_planes(np.fromfile(path, np.uint8), 8)[1]
print(status, peak() - before)
"""


def measured(path: Path, action: str, side: int) -> tuple[str, int]:
    """What becomes of a file in a process of its own, and by how many MB the process grew at most."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), action, str(side)], capture_output=True, text=True, check=True
    )
    status, kilobytes = done.stdout.split()
    return status, int(kilobytes) // 1000


def claiming(content: bytes, frame: int) -> bytes:
    """A small file whose header says CLAIM x CLAIM."""
    high, low = divmod(CLAIM, 256)
    for at, value in enumerate((high, low, high, low), start=1):
        content = patched(content, frame, at, value)
    return content


@pytest.mark.parametrize("action", ["exact", "fast", "libjpeg", "rewrite", "planes"])
@pytest.mark.parametrize("progressive", [False, True])
def test_a_small_file_that_claims_a_huge_picture_takes_little_memory(
    tmp_path: Path, progressive: bool, action: str
) -> None:
    content = jpeg(picture(1, 64, 64), progressive=progressive, subsampling="4:4:4")
    path = tmp_path / "x.jpg"
    path.write_bytes(claiming(content, 0xC2 if progressive else 0xC0))
    status, megabytes = measured(path, action, CLAIM)
    assert status != "ok"
    assert megabytes < 80
    if progressive and action != "planes":
        assert status == "too-large"


@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:0"])
def test_the_emptiest_large_picture_is_decoded(tmp_path: Path, subsampling: str) -> None:
    """50 megapixels of white, progressive, Huffman tables made for it: the fewest bytes that a sound file takes."""
    path = tmp_path / "x.jpg"
    buffer = io.BytesIO()
    Image.new("RGB", (7071, 7071), "white").save(
        buffer, "JPEG", progressive=True, optimize=True, subsampling=subsampling
    )
    path.write_bytes(buffer.getvalue())
    status, megabytes = measured(path, "libjpeg", 7071)
    assert status == "ok"
    assert 100 < megabytes < 600


@pytest.mark.parametrize("shape", [(1, 60_000), (60_000, 1), (9, 40_000)])
@pytest.mark.parametrize("progressive", [False, True])
def test_blocks_beyond_the_edges_count_for_nothing(tmp_path: Path, shape: tuple[int, int], progressive: bool) -> None:
    path = tmp_path / "x.jpg"
    path.write_bytes(jpeg(np.full((*shape, 3), 255, np.uint8), progressive=progressive, optimize=True))
    height, width = shape
    places = native.Places(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([path.stat().st_size]))
    cuts = native.Cuts(
        np.array([[width, height]], np.int32), np.array([[0.0, 0, width, height]]), np.zeros(1, np.uint8)
    )
    out, statuses = np.empty((1, 3, 32, 32), np.uint8), np.empty(1, np.uint8)
    pool = native.open_pool(1)
    native.wait(native.submit(pool, native.open_reader([path]), places, cuts, out, statuses, exact=True))
    pool.close()
    assert native.STATUSES[statuses[0]] == "ok"
    assert out.min() >= 254
