"""Kills the replicas' process groups when the runner is gone, however it went.

A separate program: `python watchdog.py` reads lines `+GROUP` and `-GROUP` from its standard input, a pipe
that only the runner holds. At its end every group still listed gets SIGKILL at once: a resumed run may
start in the same folder a moment later, and checkpoints are complete or absent.
"""

import contextlib
import os
import signal
import sys


def main() -> None:
    """Follow the pipe to its end, then kill what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        change, group = line[0], int(line[1:])
        if change == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
