"""Processes of one node, from start to end: they live and die together, and with those of the other nodes."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

from trainer.crew import Crew, Failure
from trainer.errors import ConfigError

GRACE_SECONDS = 30.0
"""From SIGTERM to SIGKILL for what a failed process leaves behind: what a Spot machine has."""
LAST_SECONDS = 600.0
"""How long the primary waits for the others when its own processes have ended well."""
_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>
_libc = ctypes.CDLL(None) if sys.platform.startswith("linux") else None

Child = subprocess.Popen[bytes]
Say = Callable[[str], None]


class Stopping:
    """Passes the signal that asked this process to end on to the children."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.requested = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self.requested = True
        self.forward()

    def forward(self) -> None:
        """SIGTERM to all that run."""
        for child in self.children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)

    def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start one more; raises ConfigError when there is no such program."""
        try:
            child = subprocess.Popen(command, env=dict(environment), preexec_fn=_end_with(os.getpid()))
        except OSError as error:
            said = os.strerror(error.errno).lower() if error.errno else str(error)
            raise ConfigError(said, where=command[0], remedy="check the command after --") from None
        self.children.append(child)
        if self.requested:
            self.forward()


def _end_with(launcher: int) -> Callable[[], None] | None:
    """Have the kernel kill the process when the launcher is killed, lest it keeps GPUs and files locked."""
    if _libc is None:
        return None

    # Safe after fork: the launcher has no threads.
    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != launcher:
            os._exit(128 + signal.SIGKILL)

    return prepare


def supervise(stopping: Stopping, crew: Crew, own: int, say: Say) -> int:
    """Return when all processes of this node, `own`, have ended; the exit code of the first that failed in the run.

    On the primary, return when those of the other nodes have ended too.
    """
    code = 0
    running = list(stopping.children)
    while running:
        time.sleep(0.02)
        failure = _ended_badly(running, own) or crew.failure()
        if failure is None or code != 0:
            continue
        code = failure.code
        crew.tell(failure)
        if failure.node != own:
            say(f"node {failure.node} ended with exit code {code}: so does this one")
        if failure.node != own or not stopping.requested:
            _end(running)
    if code == 0:
        code = _last(stopping, crew, own, say)
    return code


def _ended_badly(running: list[Child], own: int) -> Failure | None:
    """Take those that have ended off the list; the first of them that failed."""
    failure = None
    for child in list(running):
        if child.poll() is None:
            continue
        running.remove(child)
        if failure is None and child.returncode != 0:
            failure = Failure(own, _exit_code(child.returncode))
    return failure


def _last(stopping: Stopping, crew: Crew, own: int, say: Say) -> int:
    """Vertex AI takes the primary's end for the job's and stops the others: it goes last."""
    crew.report_success()
    if crew.unfinished:
        say("done here; waiting for the other nodes, which end with the primary")
    failure = crew.wait_for_others(LAST_SECONDS, lambda: stopping.requested)
    if failure is not None:
        crew.tell(failure)
        say(f"node {failure.node} ended with exit code {failure.code}: so does this one")
        return failure.code
    if crew.unfinished:
        if stopping.requested:
            return 128 + signal.SIGTERM
        say(f"node {', '.join(map(str, crew.unfinished))} still runs after {LAST_SECONDS:.0f} s: ending without it")
    return 0


def _end(children: list[Child]) -> None:
    """End what a failed process leaves: it would wait for ever in a collective operation."""
    for child in children:
        child.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    for child in children:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()


def _exit_code(code: int) -> int:
    """As a shell reports it: 128 + the signal that ended a process."""
    return 128 - code if code < 0 else code
