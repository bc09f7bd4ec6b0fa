"""What a training sample costs here, step by step, in CPU microseconds of one core."""

import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer import _native
from trainer.data import native
from trainer.data.crops import CropConfig, random_boxes, random_flips

LEAST_ROUNDS = 3
_STEPS = ("entropy", "planes", "pixels", "sample")


@dataclass(frozen=True)
class Work:
    """Pictures in memory and what to cut from each, uint8 of `size` x `size` pixels."""

    files: tuple[bytes, ...]
    boxes: NDArray[np.float64]
    flips: NDArray[np.uint8]
    size: int

    def __len__(self) -> int:
        return len(self.files)

    def take(self, chosen: Sequence[int]) -> "Work":
        """Some of them."""
        at = np.array(chosen, np.int64)
        return Work(tuple(self.files[i] for i in chosen), self.boxes[at], self.flips[at], self.size)

    def with_files(self, files: Sequence[bytes]) -> "Work":
        """The same crops of other files."""
        return Work(tuple(files), self.boxes, self.flips, self.size)


def work_of(
    files: Sequence[bytes],
    width: NDArray[np.int32],
    height: NDArray[np.int32],
    crop: CropConfig,
    size: int,
    seed: int,
) -> Work:
    """Training crops of these files, a function of the seed."""
    samples, epochs = np.arange(len(files), dtype=np.int64), np.zeros(len(files), np.int64)
    known = [np.maximum(side, 1) for side in (width, height)]
    boxes = random_boxes(crop, seed, epochs, samples, *known)
    return Work(tuple(files), boxes, random_flips(crop, seed, epochs, samples), size)


def runner(work: Work, part: str) -> Callable[[], tuple[float, list[str]]]:
    """A part of the work (`measure` in csrc/measure.hpp) on all files: CPU seconds, and the status of each, "ok" or
    why not."""
    size = np.array([len(file) for file in work.files], np.int64)
    data = np.frombuffer(b"".join(work.files), np.uint8)
    offset = np.cumsum(size) - size
    out = np.zeros((len(work), 3, work.size, work.size), np.uint8)
    statuses = np.zeros(len(work), np.uint8)

    def run() -> tuple[float, list[str]]:
        seconds = _native.measure(
            *(part, data, offset, size, work.boxes, work.flips, out, statuses),
            instructions=_native.INSTRUCTION_SETS[-1],
            mean=(0.0, 0.0, 0.0),
            std=(1.0, 1.0, 1.0),
        )
        return seconds, [native.STATUSES[status] for status in statuses]

    return run


def seconds_of(work: Work, part: str) -> Callable[[], float]:
    """The same, without the statuses."""
    run = runner(work, part)
    return lambda: run()[0]


def rotate(runs: Mapping[str, Callable[[], float]], seconds: float) -> dict[str, float]:
    """Medians of what the runs return, in rotation for about `seconds`, after a round that does not count."""
    until = time.monotonic() + seconds
    taken: dict[str, list[float]] = {name: [] for name in runs}
    number = 0
    while number <= LEAST_ROUNDS or time.monotonic() < until:
        for name, run in runs.items():
            result = run()
            if number:
                taken[name].append(result)
        number += 1
    return {name: statistics.median(times) for name, times in taken.items()}


def decoders(work: Work) -> tuple[list[int], list[int]]:
    """Which files training decodes with the own decoder, and which with libjpeg; bad ones are among these."""
    _, statuses = runner(work, "entropy")()
    own = [i for i, status in enumerate(statuses) if status == "ok"]
    return own, sorted(set(range(len(work))) - set(own))


@dataclass(frozen=True)
class Steps:
    """CPU microseconds of a picture that the own decoder reads."""

    entropy: float
    transform: float
    resample: float
    finish: float

    @property
    def total(self) -> float:
        """Of a whole sample."""
        return self.entropy + self.transform + self.resample + self.finish


def steps(work: Work, seconds: float) -> Steps:
    """Of files that the own decoder reads. Each step's cost is what it adds to those before it."""
    median = rotate({part: seconds_of(work, part) for part in _STEPS}, seconds)
    upto = [0.0, *(median[part] * 1e6 / len(work) for part in _STEPS)]
    # A step may come out below nothing where other programs disturb the measurement.
    entropy, transform, resample, finish = (max(0.0, b - a) for a, b in itertools.pairwise(upto))
    return Steps(entropy, transform, resample, finish)


def libjpeg_microseconds(work: Work, seconds: float) -> float:
    """Of a whole sample by libjpeg's way."""
    return rotate({"libjpeg": seconds_of(work, "libjpeg")}, seconds)["libjpeg"] * 1e6 / len(work)
