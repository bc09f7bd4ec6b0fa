"""The runner's end of the watchdog: tell it which process groups live."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO


class Guard:
    """What the watchdog is told."""

    def __init__(self, pipe: IO[str]) -> None:
        self._pipe = pipe

    def add(self, group: int) -> None:
        """From now on the group dies with this process."""
        self._say(f"+{group}")

    def remove(self, group: int) -> None:
        """The group is gone; its number may belong to someone else soon."""
        self._say(f"-{group}")

    def _say(self, line: str) -> None:
        # A watchdog that someone killed must not stop the job: the kernel's parent-death signal remains.
        with contextlib.suppress(BrokenPipeError):
            self._pipe.write(f"{line}\n")
            self._pipe.flush()


@contextlib.contextmanager
def guarded() -> Iterator[Guard]:
    """Run the watchdog while the block runs; it ends with this process or with the block."""
    program = Path(__file__).with_name("watchdog.py")
    watchdog = subprocess.Popen(
        [sys.executable, "-I", "-S", str(program)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert watchdog.stdin is not None
    try:
        yield Guard(watchdog.stdin)
    finally:
        with contextlib.suppress(BrokenPipeError):
            watchdog.stdin.close()
        watchdog.wait()
