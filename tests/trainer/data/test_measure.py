"""The native extension's own account of what a sample costs, step by step."""

import io

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from trainer import _native
from trainer.data import native

SIDE = 32
FAR_BOX = (140.0, 200.0, 300.0, 390.0)


def jpeg(seed: int, **options: object) -> bytes:
    """A picture of 320 x 400 that gives a decoder something to do."""
    noise = np.random.default_rng(seed).integers(0, 255, (400, 320, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "JPEG", quality=90, **options)
    return buffer.getvalue()


def measure(
    part: str, files: list[bytes], out: NDArray[np.uint8], box: tuple[float, ...] = FAR_BOX
) -> tuple[float, list[str]]:
    """Seconds and the name of each file's status."""
    size = np.array([len(file) for file in files])
    statuses = np.zeros(len(files), np.uint8)
    seconds = _native.measure(
        part,
        np.frombuffer(b"".join(files), np.uint8),
        np.cumsum(size) - size,
        size,
        np.array([box] * len(files)),
        np.zeros(len(files), np.uint8),
        out,
        statuses,
        instructions=_native.INSTRUCTION_SETS[-1],
        mean=(0, 0, 0),
        std=(1, 1, 1),
    )
    return seconds, [native.STATUSES[status] for status in statuses]


def test_the_whole_sample_is_what_the_loader_makes(tmp_path) -> None:
    file = jpeg(1)
    out = np.zeros((1, 3, SIDE, SIDE), np.uint8)
    _, statuses = measure("sample", [file], out)
    (tmp_path / "a").write_bytes(file)
    expected, status = np.zeros_like(out), np.zeros(1, np.uint8)
    pool = native.open_pool(1)
    cuts = native.Cuts(np.zeros((1, 2), np.int32), np.array([FAR_BOX]), np.zeros(1, np.uint8))
    places = native.Places(np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([len(file)]))
    native.wait(native.submit(pool, native.open_reader([tmp_path / "a"]), places, cuts, expected, status, exact=False))
    assert statuses == ["ok"]
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("part", ["entropy", "planes", "pixels"])
def test_a_step_alone_takes_time_and_writes_nothing(part: str) -> None:
    out = np.full((4, 3, SIDE, SIDE), 7, np.uint8)
    seconds, statuses = measure(part, [jpeg(seed) for seed in range(4)], out)
    assert seconds > 0
    assert statuses == ["ok"] * 4
    assert (out == 7).all()


def test_entropy_decoding_costs_less_than_the_planes() -> None:
    files = [jpeg(seed) for seed in range(8)]
    out = np.zeros((8, 3, SIDE, SIDE), np.uint8)
    everything = (0.0, 0.0, 320.0, 400.0)  # at 1/8 the transform is nothing; at full size it is something
    large = np.zeros((8, 3, 320, 320), np.uint8)
    entropy = min(measure("entropy", files, large, everything)[0] for _ in range(7))
    planes = min(measure("planes", files, large, everything)[0] for _ in range(7))
    assert entropy < planes
    assert min(measure("entropy", files, out)[0] for _ in range(7)) < entropy  # a crop is less than the picture


@pytest.mark.parametrize("part", ["entropy", "planes", "pixels", "sample"])
def test_a_file_of_the_fallback_is_called_unsupported(part: str) -> None:
    out = np.zeros((2, 3, SIDE, SIDE), np.uint8)
    _, statuses = measure(part, [jpeg(1), jpeg(2, progressive=True)], out)
    assert statuses == ["ok", "unsupported"]


@pytest.mark.parametrize("part", ["libjpeg", "exact"])
def test_the_fallback_reads_every_file(part: str) -> None:
    out = np.zeros((2, 3, SIDE, SIDE), np.uint8)
    _, statuses = measure(part, [jpeg(1), jpeg(2, progressive=True)], out)
    assert statuses == ["ok", "ok"]
    assert out.any()


@pytest.mark.parametrize("part", ["entropy", "planes", "sample", "libjpeg", "exact"])
def test_a_truncated_file_is_reported(part: str) -> None:
    out = np.zeros((1, 3, SIDE, SIDE), np.uint8)
    assert measure(part, [jpeg(1)[:5000]], out)[1] == ["truncated"]


def test_a_picture_outside_the_bytes_is_refused() -> None:
    out = np.zeros((1, 3, SIDE, SIDE), np.uint8)
    with pytest.raises(ValueError, match="outside the bytes"):
        _native.measure(
            "entropy",
            np.zeros(10, np.uint8),
            np.array([5]),
            np.array([6]),
            np.array([FAR_BOX]),
            np.zeros(1, np.uint8),
            out,
            np.zeros(1, np.uint8),
            instructions="baseline",
            mean=(0, 0, 0),
            std=(1, 1, 1),
        )


@pytest.mark.parametrize(("part", "instructions"), [("everything", "baseline"), ("entropy", "abacus")])
def test_an_unknown_part_or_instruction_set_is_refused(part: str, instructions: str) -> None:
    with pytest.raises(ValueError, match=r"must be entropy|no kernels of that name"):
        _native.measure(
            part,
            np.zeros(10, np.uint8),
            np.array([0]),
            np.array([6]),
            np.array([FAR_BOX]),
            np.zeros(1, np.uint8),
            np.zeros((1, 3, SIDE, SIDE), np.uint8),
            np.zeros(1, np.uint8),
            instructions=instructions,
            mean=(0, 0, 0),
            std=(1, 1, 1),
        )
