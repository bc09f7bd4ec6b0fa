"""Where a run's time goes: every moment belongs to exactly one phase, so the phases add up to the wall time."""

import contextlib
import time
from collections.abc import Callable, Iterator

PHASES = (
    "data_wait",
    "copy",
    "forward_backward",
    "all_reduce",
    "optimizer",
    "checkpoint",
    "evaluation",
    "other",
)


class Profile:
    """A stopwatch that always runs for one phase; between named phases it is `other`.

    `synchronize` waits for the accelerator at each boundary, so that its work is charged to the phase
    that asked for it; it may be set later. `clock` returns seconds.
    """

    def __init__(self, synchronize: Callable[[], None] | None = None, clock: Callable[[], float] = time.perf_counter):
        self.synchronize = synchronize
        self._clock = clock
        self._seconds = dict.fromkeys(PHASES, 0.0)
        self._current = "other"
        self._started = self._mark = clock()

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Charge the block to `name`; a phase inside it interrupts it."""
        before = self._switch(name)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, name: str) -> str:
        if self.synchronize is not None:
            self.synchronize()
        now = self._clock()
        before = self._current
        self._seconds[before] += now - self._mark
        self._mark, self._current = now, name
        return before

    def seconds(self) -> dict[str, float]:
        """Seconds by phase until now."""
        self._switch(self._current)
        return dict(self._seconds)

    def wall_seconds(self) -> float:
        """Seconds from the beginning to the last boundary; the sum of all phases."""
        return self._mark - self._started


def phase_table(seconds: dict[str, float]) -> dict[str, dict[str, float]]:
    """`phases` of profile.json: seconds and share of the whole."""
    whole = sum(seconds.values()) or 1.0
    return {name: {"seconds": value, "share": value / whole} for name, value in seconds.items()}
