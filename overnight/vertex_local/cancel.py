"""Ctrl-C and SIGTERM as a wish to stop, which the runner fulfils."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def cancel_on_signals() -> Iterator[Callable[[], int]]:
    """Count SIGINT, SIGTERM and SIGHUP while the block runs, instead of dying of them; yields the counter."""
    count = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield lambda: count
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
