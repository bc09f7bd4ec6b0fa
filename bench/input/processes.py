"""What this process and its children use: CPU seconds and memory."""

import os
import resource
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def _children() -> list[int]:
    """Every living descendant of this process."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):  # it has just ended
            continue
    found = [os.getpid()]
    for number in found:
        found += [child for child, parent in parents.items() if parent == number]
    return found[1:]


def cpu_seconds() -> float:
    """User and system time of this process, its living children (to a hundredth), and those that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = 0
    for number in _children():
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        living += int(fields[11]) + int(fields[12])
    return time.process_time() + living / _TICKS + ended.ru_utime + ended.ru_stime


def memory_mb() -> float:
    """Proportional set size of this process and its children, in MB: shared pages count once."""
    total = 0
    for number in (os.getpid(), *_children()):
        try:
            lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / 1e6
