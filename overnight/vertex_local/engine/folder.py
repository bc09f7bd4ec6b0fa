"""What stands where in a job's folder."""

from dataclasses import dataclass
from pathlib import Path

from overnight.vertex_local.cluster import ReplicaName


@dataclass(frozen=True)
class JobFolder:
    """The files of one job. `launch` counts job processes, from 1."""

    path: Path

    @property
    def events(self) -> Path:
        """What happened, one JSON line each (events.py)."""
        return self.path / "events.jsonl"

    @property
    def log(self) -> Path:
        """All replicas' log entries, one JSON line each (log_entries.py)."""
        return self.path / "log.jsonl"

    @property
    def carried(self) -> Path:
        """How much of the replicas' files has become entries, {file name: bytes}."""
        return self.path / "carried.json"

    @property
    def lock(self) -> Path:
        """Held by the job process for as long as it lives."""
        return self.path / "lock"

    def output(self, replica: ReplicaName) -> Path:
        """The replica's standard output."""
        return self.path / "logs" / f"{replica}.stdout.log"

    def errors(self, replica: ReplicaName) -> Path:
        """The replica's standard error."""
        return self.path / "logs" / f"{replica}.stderr.log"

    def working(self, replica: ReplicaName) -> Path:
        """The replica's working directory: empty whenever the job starts, as a container's file system is."""
        return self.path / "replicas" / str(replica)

    def plan(self, launch: int) -> Path:
        """What the job process is to do (plan.py)."""
        return self.path / f"launch-{launch}" / "plan.json"

    def orders(self, launch: int) -> Path:
        """What the server asks of the job process, one word a line (orders.py)."""
        return self.path / f"launch-{launch}" / "orders"

    def complaints(self, launch: int) -> Path:
        """The job process's own standard error: empty, unless it has a bug."""
        return self.path / f"launch-{launch}" / "stderr.log"
