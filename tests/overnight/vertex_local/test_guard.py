"""Whatever ends the runner, no replica and none of a replica's children stays behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

RUNNER = """
import sys
from pathlib import Path
from overnight.vertex_local.cluster import JobIdentity
from overnight.vertex_local.messages import parse_custom_job
from overnight.vertex_local.runner import run_job

program = '''
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(os.getpid(), child.pid, flush=True)
time.sleep(60)
'''
container = {"command": ["python", "-c"], "args": [program]}
pools = [{"containerSpec": container}, {"containerSpec": container, "replicaCount": "2"}]
job = parse_custom_job({"displayName": "x", "jobSpec": {"workerPoolSpecs": pools}})
run_job(job, JobIdentity("1", "1"), Path(sys.argv[1]), lambda event: None, lambda: 0)
"""


def pids(logs: Path) -> list[int]:
    return [int(pid) for log in logs.glob("*.log") for line in log.read_text().splitlines() for pid in line.split()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_runner_that_dies(number, tmp_path, gone):
    logs = tmp_path / "logs"
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(logs)])
    deadline = time.monotonic() + 30
    while len(pids(logs)) < 6 and time.monotonic() < deadline:
        time.sleep(0.05)
    started = pids(logs)
    runner.send_signal(number)
    runner.wait(timeout=10)
    assert len(started) == 6
    assert [pid for pid in started if not gone(pid)] == []
