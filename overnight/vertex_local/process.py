"""One replica as a process: started in a group of its own, which ends as a whole."""

import contextlib
import ctypes
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.command import Command

_PR_SET_PDEATHSIG = 1  # prctl(2)
_libc = ctypes.CDLL(None, use_errno=True)

CANNOT_START = 127
"""The exit code of a command that is not there, as in a shell."""


@dataclass(frozen=True)
class Exit:
    """How a replica ended: `code` 0 to 255, or minus the signal's number."""

    replica: ReplicaName
    code: int

    @property
    def signal_name(self) -> str | None:
        """The signal that ended it, also where a launcher reports one of its processes' as 128 + number."""
        number = -self.code if self.code < 0 else self.code - 128
        with contextlib.suppress(ValueError):
            return signal.Signals(number).name
        return None

    @property
    def text(self) -> str:
        """`code 1`, `signal SIGKILL`, or `code 137 (signal SIGKILL)`."""
        if self.code < 0:
            return f"signal {self.signal_name or -self.code}"
        return f"code {self.code}" + (f" (signal {self.signal_name})" if self.signal_name else "")


class ReplicaProcess:
    """A running replica; standard output and error are appended to files."""

    def __init__(
        self,
        name: ReplicaName,
        command: Command,
        log: Path,
        cores: frozenset[int],
        *,
        errors: Path | None = None,
        folder: Path | None = None,
    ) -> None:
        """Start it on `cores`, in `folder` or where this process is; without `errors` both streams go to `log`.

        Raises OSError when the program is not there or may not run.
        """
        self.name = name

        def prepare() -> None:
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.sched_setaffinity(0, cores)

        with log.open("ab") as output, (errors or log).open("ab") as error_output:
            # preexec_fn is safe here: the runner has no threads. start_new_session makes the process group
            # whose end `stop` can enforce on grandchildren too.
            self._process = subprocess.Popen(
                command.arguments,
                env=dict(command.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=error_output,
                cwd=folder,
                start_new_session=True,
                preexec_fn=prepare,
            )

    @property
    def group(self) -> int:
        """The process group, which is the process's id."""
        return self._process.pid

    def poll(self) -> Exit | None:
        """How it ended, or None while it runs. What it left behind in its group is killed first."""
        if self._process.returncode is None:
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, self.group, flags) is None:
                return None
            # Not reaped yet, so the group's number cannot belong to anyone else.
            self.kill()
        return Exit(self.name, self._process.wait())

    def terminate(self) -> None:
        """SIGTERM to the process alone, as a container runtime sends it to the container's first process."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.group, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to the whole group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.group, signal.SIGKILL)
