"""The whole measurement, within a time: what `python -m trainer.bench_input` prints."""

import itertools
import math
import os
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from trainer import _native
from trainer.bench_input import costs, feeding, levers
from trainer.bench_input.costs import Work, work_of
from trainer.bench_input.kinds import why_left_to_libjpeg
from trainer.bench_input.pictures import Drawn
from trainer.data.crops import CropConfig
from trainer.errors import SnapshotError

FORMAT = "overnight.bench-input/1"
_LEVER_BYTES_A_SECOND = 200_000  # of pictures that other shards are tried on, for each second that it may all take
_OVERHEAD = 1.1  # reading and handing over, on top of a sample's own cost


@dataclass(frozen=True)
class Question:
    """What is asked: side in pixels, crops, threads, the accelerator's rate (pictures a second) and about how many
    seconds it may all take."""

    size: int
    crop: CropConfig
    threads: int
    rate: float | None
    seconds: float
    seed: int


def answer(drawn: Drawn, question: Question) -> dict[str, Any]:
    """Everything, as JSON. Raises SnapshotError where no drawn picture can be decoded."""
    rows = drawn.rows
    work = work_of(drawn.files, rows.width, rows.height, question.crop, question.size, question.seed)
    _, statuses = costs.runner(work, "libjpeg")()
    good = [i for i, status in enumerate(statuses) if status == "ok"]
    bad = Counter(status for status in statuses if status != "ok")
    if not good:
        raise SnapshotError(f"none of {len(drawn)} pictures can be decoded ({bad.most_common(1)[0][0]})")
    usable = work.take(good)
    own, left = costs.decoders(usable)
    core = _core(usable, own, left, 0.4 * question.seconds)
    return {
        "format": FORMAT,
        "sample": _sample(drawn, good),
        "size": question.size,
        "instructions": _native.INSTRUCTION_SETS[-1],
        "bad": dict(bad),
        "fallback": dict(Counter(why_left_to_libjpeg(usable.files[i]) for i in left)),
        **core,
        "levers": _levers(usable, question),
        **_loader(drawn, question, core["images_per_second_core"]),
    }


def _sample(drawn: Drawn, good: list[int]) -> dict[str, Any]:
    rows = drawn.rows
    pixels = sum(int(rows.width[i]) * int(rows.height[i]) for i in good)
    size = sum(len(drawn.files[i]) for i in good)
    return {
        "images": len(drawn),
        "shards": drawn.shards,
        "mean_bytes": size / len(good),
        "mean_pixels": pixels / len(good),
        "bits_per_pixel": 8 * size / pixels,
        "shorter_side": levers.median_shorter_side(
            [int(rows.width[i]) for i in good], [int(rows.height[i]) for i in good]
        ),
    }


def _core(work: Work, own: list[int], left: list[int], seconds: float) -> dict[str, Any]:
    """One core: the steps of the files that the own decoder reads, and what the others cost."""
    steps = costs.steps(work.take(own), seconds * len(own) / len(work)) if own else None
    fallback = costs.libjpeg_microseconds(work.take(left), seconds * len(left) / len(work)) if left else 0.0
    total = len(own) * (steps.total if steps else 0.0) + len(left) * fallback
    return {
        "images_per_second_core": 1e6 * len(work) / total,
        "steps_us": asdict(steps) if steps else None,
        "floor_share": steps.entropy / steps.total if steps else None,
        "fallback_us": fallback if left else None,
    }


def _levers(work: Work, question: Question) -> list[dict[str, Any]]:
    most = _LEVER_BYTES_A_SECOND * question.seconds
    count = 1 + sum(size < most for size in itertools.accumulate(map(len, work.files)))
    some = work.take(range(min(count, len(work))))
    seconds = 0.15 * question.seconds
    found = (
        levers.restart_markers(some, seconds),
        levers.shorter_side(some, question.crop, question.seed, seconds),
    )
    return [asdict(lever) for lever in found if lever is not None]


def _loader(drawn: Drawn, question: Question, core: float) -> dict[str, Any]:
    """The loader with all threads, alone and at the accelerator's rate."""
    seconds = 0.15 * question.seconds
    arguments = (drawn.rows, question.size, question.crop, question.threads)
    alone = feeding.feed(*arguments, None, seconds)
    loader = {"threads": question.threads, "images_per_second": alone.pictures_per_second}
    if question.rate is None:
        return {"loader": loader, "accelerator": None}
    fed = feeding.feed(*arguments, question.rate, seconds)
    return {
        "loader": loader,
        "accelerator": {
            "images_per_second": question.rate,
            "exposed_wait": fed.waiting,
            "cores_needed": math.ceil(question.rate * _OVERHEAD / core),
            "cores_here": len(os.sched_getaffinity(0)),
        },
    }
