"""What restart markers gain: the same pictures and crops, as they are and rewritten without loss."""

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from bench.input import ours
from bench.input.timing import Cost, rotate
from bench.input.workload import Workload

ROWS = 1  # of units between two markers, as the shard writer puts them


@dataclass(frozen=True)
class Restart:
    """Costs of a sample before and after, and the bytes added, percent."""

    before: Cost
    after: Cost
    more_bytes: float

    @property
    def gain(self) -> float:
        """How many times as fast."""
        return self.before.microseconds / self.after.microseconds


def compare(native: ModuleType, work: Workload, rounds: int) -> Restart:
    """On one workload; this process should be pinned."""
    marked = work.with_files([_rewritten(native, file) for file in work.files])
    runs = {
        "before": ours.part(native, work, "sample", np.float32),
        "after": ours.part(native, marked, "sample", np.float32),
    }
    costs = rotate(runs, len(work), rounds)
    return Restart(costs["before"], costs["after"], 100 * (marked.size.sum() / work.size.sum() - 1))


def _rewritten(native: ModuleType, file: bytes) -> bytes:
    content, status = native.rewrite(file, ROWS)
    if content is None:
        raise RuntimeError(f"a picture of the corpus could not be rewritten: {status}")
    return bytes(content)
