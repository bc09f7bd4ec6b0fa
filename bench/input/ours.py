"""Our own contenders, straight from the compiled extension: it loads in any environment with numpy."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from bench.input.timing import Run
from bench.input.workload import MEAN, STD, Workload, batch_memory

OURS = "ours"
FLOOR = "floor: entropy decoding to the crop's end"
PLANES = "step: planes of the crop"
PIXELS = "step: pixels, not written"
WHOLE = "step: the whole sample"
Make = Callable[[], NDArray[np.generic]]


def extension(path: Path) -> ModuleType:
    """The extension from its file, without the package around it."""
    spec = importlib.util.spec_from_file_location("trainer._native", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["trainer._native"] = module
    spec.loader.exec_module(module)
    return module


def part(
    native: ModuleType, work: Workload, name: str, kind: type[np.generic], instructions: str | None = None
) -> Make:
    """A part of the work on all files (`measure` in csrc/measure.hpp), from memory into memory; its samples."""
    run, out = _measured(native, work, name, kind, instructions)

    def make() -> NDArray[np.generic]:
        run()
        return out

    return make


def step(native: ModuleType, work: Workload, name: str) -> Run:
    """A step by the extension's own clock: where the crops lie, which resampling needs to know, is found out before."""
    return _measured(native, work, name, np.float32, None)[0]


def _measured(
    native: ModuleType, work: Workload, name: str, kind: type[np.generic], instructions: str | None
) -> tuple[Callable[[], float], NDArray[np.generic]]:
    out = batch_memory(len(work), kind)
    statuses = np.zeros(len(work), np.uint8)
    chosen = instructions or native.INSTRUCTION_SETS[-1]

    def run() -> float:
        seconds: float = native.measure(
            *(name, work.data, work.offset, work.size, work.boxes, work.flips, out, statuses),
            instructions=chosen,
            mean=MEAN,
            std=STD,
        )
        if statuses.any():
            raise RuntimeError(f"{name}: {native.STATUS_NAMES[statuses.max()]}")
        return seconds

    return run, out


def contenders(native: ModuleType, work: Workload) -> dict[str, Run]:
    """All of ours by name, the floor and the steps among them."""
    return {
        OURS: part(native, work, "sample", np.float32),
        "ours, uint8": part(native, work, "sample", np.uint8),
        "ours, plain kernels": part(native, work, "sample", np.float32, "baseline"),
        "ours, forced libjpeg": part(native, work, "libjpeg", np.float32),
        "ours, exact": part(native, work, "exact", np.float32),
        FLOOR: step(native, work, "entropy"),
        PLANES: step(native, work, "planes"),
        PIXELS: step(native, work, "pixels"),
        WHOLE: step(native, work, "sample"),
    }
