"""Job processes as the server sees them: started by this server, or by one that is gone."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from overnight.vertex_local.engine.events import EventReader, History
from overnight.vertex_local.engine.folder import JobFolder
from overnight.vertex_local.engine.job_process import is_alive
from overnight.vertex_local.engine.orders import Order, give
from overnight.vertex_local.engine.queue import Need

_PACKAGE_ROOT = Path(__file__).parents[3]


@dataclass
class Job:
    """What the server keeps in memory of a job that has not ended."""

    name: str
    folder: JobFolder
    order: int
    need: Need = field(default_factory=lambda: Need("", {}))
    history: History = field(default_factory=History)
    process: subprocess.Popen[bytes] | None = None
    """The live launch's process, where this server started it."""

    def __post_init__(self) -> None:
        self._reader = EventReader(self.folder.events)

    def catch_up(self) -> bool:
        """Read new events; whether they changed anything."""
        before = self.history
        self.history = before.after(self._reader.new())
        return self.history != before

    def is_alive(self) -> bool:
        """Whether the live launch's process lives."""
        if self.process is not None and self.process.poll() is None:
            return True
        return is_alive(self.folder)

    def give(self, order: Order) -> None:
        """Give the live launch an order, if there is one."""
        if self.history.live is not None:
            give(self.folder.orders(self.history.live), order)


def start_process(folder: JobFolder, launch: int) -> subprocess.Popen[bytes]:
    """Start the job process of a launch whose plan is written. It outlives this process."""
    path = os.pathsep.join(filter(None, (str(_PACKAGE_ROOT), os.environ.get("PYTHONPATH"))))
    with folder.complaints(launch).open("wb") as complaints:
        # No preexec_fn: this process has threads. A session of its own keeps Ctrl-C away.
        return subprocess.Popen(
            # -S: it needs no installed package, and starts in half the time.
            [sys.executable, "-S", "-m", "overnight.vertex_local.engine.job_process", str(folder.path), str(launch)],
            cwd=folder.path,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            start_new_session=True,
        )


def kill(process: subprocess.Popen[bytes] | None) -> None:
    """End a job process at once; its watchdog ends the replicas."""
    if process is not None and process.poll() is None:
        process.kill()
        process.wait()
