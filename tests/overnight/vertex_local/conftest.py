import sys
import time
from pathlib import Path

import pytest

from overnight.vertex_local.cluster import JobIdentity
from overnight.vertex_local.job import JobEnd, LogLine, StateChanged
from overnight.vertex_local.messages import parse_custom_job
from overnight.vertex_local.runner import run_job

IDENTITY = JobIdentity("123456789012", "42")


@pytest.fixture
def job():
    """A maker of messages: one Python program a pool, as (program, replicas), None for a placeholder."""

    def make(*pools, scheduling=None, base=None, arguments=()):
        specs = [
            {}
            if pool is None
            else {
                "replicaCount": str(pool[1]),
                "containerSpec": {"command": ["python", "-c"], "args": [pool[0], *arguments]},
            }
            for pool in pools
        ]
        spec = {"workerPoolSpecs": specs, "scheduling": scheduling or {}}
        if base:
            spec["baseOutputDirectory"] = {"outputUriPrefix": base}
        return parse_custom_job({"displayName": "test", "jobSpec": spec})

    return make


class Recorder:
    """Runs a job and keeps what happened."""

    def __init__(self, logs: Path) -> None:
        self.logs = logs
        self.events = []

    def run(self, job, cancels=lambda: 0, grace=5.0) -> JobEnd:
        return run_job(job, IDENTITY, self.logs, self.events.append, cancels, grace)

    @property
    def states(self) -> list[str]:
        return [str(event.state) for event in self.events if isinstance(event, StateChanged)]

    def lines(self, replica: str = "workerpool0-0") -> list[str]:
        return [event.text for event in self.events if isinstance(event, LogLine) and str(event.replica) == replica]

    def count(self, text: str) -> int:
        return sum(isinstance(event, LogLine) and event.text == text for event in self.events)


@pytest.fixture
def recorder(tmp_path) -> Recorder:
    return Recorder(tmp_path / "logs")


@pytest.fixture
def gone():
    """Wait until a process has ended; false when it still runs after ten seconds."""

    def wait(pid: int) -> bool:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            stat = Path(f"/proc/{pid}/stat")
            try:
                if stat.read_text().rpartition(")")[2].split()[0] == "Z":
                    return True
            except (FileNotFoundError, ProcessLookupError):
                return True
            time.sleep(0.02)
        return False

    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    return wait
