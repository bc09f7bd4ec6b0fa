"""One process of a local build: its output line by line, its end within its time, nothing of it left behind."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE_SECONDS = 5.0
"""Between SIGTERM and SIGKILL: podman unmounts what it had mounted."""
TICK_SECONDS = 0.2
LONGEST_LINE = 65536
MOST_READS_AFTERWARDS = 1024
"""Of 64 KiB at most: a pipe holds no more, unless something that escaped its group goes on writing."""
CANNOT_RUN, NOT_FOUND = 126, 127
"""As a shell says it."""


@dataclass(frozen=True)
class Exit:
    """How a process ended."""

    code: int
    """128 + number when a signal ended it, as a shell says it."""
    timed_out: bool = False


def run(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    seconds: float | None,
    line: Callable[[str], None],
    tick: Callable[[], None] = lambda: None,
) -> Exit:
    """Run to the end, both output streams as one through `line`; `tick` is called now and then while it runs.

    After `seconds` it is ended, with every process of its group; so it is when an exception (KeyboardInterrupt)
    passes through here.
    """
    try:
        process = subprocess.Popen(
            list(arguments),
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (FileNotFoundError, NotADirectoryError):
        line(f"{arguments[0]}: not found")
        return Exit(NOT_FOUND)
    except OSError as error:
        line(f"{arguments[0]}: {(error.strerror or str(error)).lower()}")
        return Exit(CANNOT_RUN)
    assert process.stdout is not None
    with process.stdout as output:
        lines = Lines(line)
        try:
            timed_out = not _follow(process, output.fileno(), seconds, lines, tick)
        finally:
            _end(process)
            lines.close()
    code = process.returncode
    return Exit(code if code >= 0 else 128 - code, timed_out)


class Lines:
    """Bytes in, lines out; what has no line break yet waits for it."""

    def __init__(self, line: Callable[[str], None]) -> None:
        self._line = line
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take the next bytes. A carriage return ends a line too: progress bars are many lines."""
        *whole, self._rest = (self._rest + data).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for text in whole:
            self._line(text.decode(errors="replace"))
        if len(self._rest) > LONGEST_LINE:
            self.close()

    def close(self) -> None:
        """Give what is left as the last line."""
        if self._rest:
            self._line(self._rest.decode(errors="replace"))
        self._rest = b""


def _follow(
    process: "subprocess.Popen[bytes]", output: int, seconds: float | None, lines: Lines, tick: Callable[[], None]
) -> bool:
    """Pass output on until the process has ended; False when its time was over before."""
    deadline = None if seconds is None else time.monotonic() + seconds
    os.set_blocking(output, False)
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        open_ = True
        while True:
            if open_:
                ready = selector.select(TICK_SECONDS)
                open_ = not ready or _pass_on(output, lines)
                if not open_:
                    selector.unregister(output)
            ended = _has_ended(process, 0.0 if open_ else TICK_SECONDS)
            if ended:
                # What it left running may hold the pipe for ever: as in a container, it ends with its first process.
                _signal(process, signal.SIGKILL)
                for _ in range(MOST_READS_AFTERWARDS):
                    if not open_ or not selector.select(0):
                        break
                    open_ = _pass_on(output, lines)
                return True
            if deadline is not None and time.monotonic() > deadline:
                return False
            tick()


def _pass_on(output: int, lines: Lines) -> bool:
    """Read once; False at the end of the stream."""
    try:
        data = os.read(output, 65536)
    except BlockingIOError:
        return True
    lines.feed(data)
    return bool(data)


def _has_ended(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Whether the process itself has ended, without reaping it: its group's number stays taken until `_end`."""
    until = time.monotonic() + seconds
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() >= until:
            return False
        time.sleep(0.01)
    return True


def _end(process: "subprocess.Popen[bytes]") -> None:
    """SIGTERM to the group of a process that still runs, and time to tidy up; then SIGKILL to all that is left."""
    if not _has_ended(process, 0.0):
        _signal(process, signal.SIGTERM)
        _has_ended(process, GRACE_SECONDS)
    _signal(process, signal.SIGKILL)
    process.wait()


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
