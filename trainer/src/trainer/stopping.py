"""SIGTERM: Vertex AI takes a machine back, or someone cancels. The run saves a checkpoint and ends."""

import signal
from types import FrameType

STOPPED = 143
"""Exit code of a run that was told to stop: 128 + SIGTERM."""


class StopSignal:
    """Remembers that SIGTERM came; the training loop looks at it once a step."""

    def __init__(self) -> None:
        self.requested = False

    @classmethod
    def installed(cls) -> "StopSignal":
        """One that listens from now on."""
        stop = cls()
        signal.signal(signal.SIGTERM, stop)
        return stop

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self.requested = True
