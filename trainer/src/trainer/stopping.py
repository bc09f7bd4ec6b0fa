"""SIGTERM: Vertex AI takes a machine back, or someone cancels. The run saves a checkpoint and ends."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

STOPPED = 143
"""Exit code of a run that was told to stop: 128 + SIGTERM."""


class StopSignal:
    """Remembers that SIGTERM came; the training loop looks at it once a step."""

    def __init__(self) -> None:
        self.requested = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self.requested = True


@contextlib.contextmanager
def listening() -> Iterator[StopSignal]:
    """A StopSignal that hears SIGTERM while the block runs. Only in the main thread."""
    stop = StopSignal()
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGTERM, before)
