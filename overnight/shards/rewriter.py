"""The process that rewrites pictures with restart markers: the trainer's `python -m trainer.rewrite`.

It is the trainer's because only the trainer has native code, and because the decoder that will read the pictures in
training judges them here. What goes through its pipes: docs/formats.md, "Rewriting pictures".
"""

import contextlib
import json
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any

from overnight.shards.errors import ShardError

FORMAT = "overnight.rewrite/1"
# -P: a folder called "trainer" beside the user is not the package.
COMMAND = (sys.executable, "-P", "-m", "trainer.rewrite")
# A row of units is the least that a decoder can jump over at next to no cost in bytes.
ROWS = 1
# For one picture; the largest that the trainer reads takes seconds.
PICTURE_SECONDS = 120.0
_REMEDY = "install it into this Python (pip install ./trainer), or set shards.restart_markers to false"
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Answer:
    """What became of a picture: "ok" and its new bytes, or one of the trainer's words for why not.

    "crashed" and "timed-out" are this side's words: the process ended on the picture twice, or had to be ended.
    """

    status: str
    data: bytes = b""


class _Died(Exception):
    """The process gave no answer."""


class Rewriter:
    """One worker process, started when it is first needed and again when it died; any thread may ask."""

    def __init__(self, command: Sequence[str] = COMMAND, seconds: float = PICTURE_SECONDS) -> None:
        self._command = command
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._version = ""

    def libjpeg_version(self) -> str:
        """libjpeg-turbo's version in the process, which decides the rewritten bytes. Raises ShardError."""
        with self._lock:
            self._running()
        return self._version

    def rewrite(self, picture: bytes) -> Answer:
        """Ask for `picture` with restart markers.

        Raises ShardError when the process does not start, MemoryError when the machine's memory does not suffice.
        """
        with self._lock:
            answer = self._ask(picture)
            if answer.status == "crashed":
                answer = self._ask(picture)
        if answer.status == "out-of-memory":
            raise MemoryError("rewriting a picture")
        return answer

    def close(self) -> None:
        """End the process; the next picture would start another."""
        with self._lock:
            self._end()

    def _ask(self, picture: bytes) -> Answer:
        process = self._running()
        began = time.monotonic()
        try:
            head, data = self._exchange(process, {"rows": ROWS}, picture)
            return Answer(head["status"], data)
        except _Died:
            late = time.monotonic() - began >= self._seconds
            code = self._end()
            # Nobody but a machine that is short of memory kills a process in this way.
            return Answer("timed-out" if late else "out-of-memory" if code == -9 else "crashed")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            # A session of its own: Control-C in the terminal is for the build, whose end closes the pipe.
            with tempfile.TemporaryFile() as errors:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
                try:
                    head, _ = self._exchange(self._process, None, b"")
                except _Died:
                    self._end()
                    raise _not_started(errors) from None
            if head.get("format") != FORMAT:
                self._end()
                raise ShardError(f"the trainer package speaks {head.get('format')!r}", where=FORMAT, remedy=_REMEDY)
            self._version = head["libjpeg_turbo"]
        return self._process

    def _exchange(
        self, process: subprocess.Popen[bytes], head: dict[str, Any] | None, body: bytes
    ) -> tuple[dict[str, Any], bytes]:
        """Send a request, or nothing, and read one answer. Raises _Died."""
        assert process.stdin is not None
        assert process.stdout is not None
        alarm = threading.Timer(self._seconds, process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            if head is not None:
                encoded = json.dumps(head).encode()
                process.stdin.write(_LENGTH.pack(len(encoded)) + encoded + _LENGTH.pack(len(body)))
                process.stdin.write(body)
                process.stdin.flush()
            return json.loads(_frame(process.stdout)), _frame(process.stdout)
        except (OSError, ValueError):
            raise _Died from None
        finally:
            alarm.cancel()

    def _end(self) -> int:
        """End the process; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                _close(pipe)
        try:
            return process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _close(pipe: IO[bytes]) -> None:
    with contextlib.suppress(OSError):  # what was not written yet has no reader any more
        pipe.close()


def _frame(file: IO[bytes]) -> bytes:
    prefix = file.read(_LENGTH.size)
    if len(prefix) < _LENGTH.size:
        raise _Died
    (length,) = _LENGTH.unpack(prefix)
    data = file.read(length)
    if len(data) < length:
        raise _Died
    return data


def _not_started(errors: IO[bytes]) -> ShardError:
    errors.seek(0)
    said = errors.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(said) if line.strip()), "it says nothing")
    if "No module named" in last and "trainer" in last:
        return ShardError("restart markers need the trainer package, which is not installed", remedy=_REMEDY)
    return ShardError(f"restart markers need the trainer package, which does not start ({last})", remedy=_REMEDY)
