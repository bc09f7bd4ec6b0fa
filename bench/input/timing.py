"""CPU seconds: every contender once a round, in another order each time; the median of the rounds and their spread."""

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

Run = Callable[[], object]
"""What is measured. A float that it returns is its own account of its CPU seconds."""


@dataclass(frozen=True)
class Cost:
    """Of one sample: microseconds of CPU time (median), and (slowest - fastest) / median of the rounds."""

    microseconds: float
    spread: float


@contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """This process, and what it starts meanwhile, on one core; None: the last that it may use."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed) if core is None else core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def rotate(runs: Mapping[str, Run], count: int, rounds: int) -> dict[str, Cost]:
    """Costs of runs that make `count` samples each. A first round warms up and does not count.

    Who comes after whom changes from round to round. A contender's turn is two runs, of which the second counts: its
    predecessor leaves other code and data in the caches, and a loader has them to itself for hours.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(rounds + 1):
        for name in random.Random(number).sample(list(runs), len(runs)):
            if number:
                runs[name]()
            before = time.process_time()
            told = runs[name]()
            passed = time.process_time() - before
            if number:
                seconds[name].append(told if isinstance(told, float) else passed)
    return {name: cost(times, count) for name, times in seconds.items()}


def cost(seconds: list[float], count: int) -> Cost:
    """The cost of a sample, from the seconds that each round took for `count` of them."""
    median = statistics.median(seconds)
    spread = (max(seconds) - min(seconds)) / median if median else 0.0
    return Cost(median / count * 1e6, spread)
