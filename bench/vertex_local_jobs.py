"""Submit many jobs at once to a local Vertex AI; then kill the server in the middle and start it again.

    python bench/vertex_local_jobs.py [--jobs 200] [--slots 4] [--json FILE]

By the official client over gRPC, from several threads. Checked: every job ends well and has run exactly once, jobs
start in the order of their submission, and the server's memory does not grow with them. Any failed check is exit
code 1.
"""

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import grpc
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.engine.job_files import JobFiles

PARENT = "projects/bench/locations/europe-west4"
PROGRAM = "import os; print(os.environ['NUMBER'])"
PATIENCE_SECONDS = 600.0
SERVER = """
import sys
import threading
from pathlib import Path
from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings
with Server(Path(sys.argv[1]), Settings(machine_slots=int(sys.argv[2]))):
    threading.Event().wait()
"""


@dataclass
class Result:
    """What one series of jobs showed. Times in seconds, memory in MiB."""

    jobs: int
    slots: int
    killed_after: int | None
    submit_seconds: float
    total_seconds: float
    lost: int
    run_twice: int
    out_of_order: int
    server_mib_before: float
    server_mib_most: float

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, repeated or overtaken, and memory stayed within 64 MiB."""
        return not (self.lost or self.run_twice or self.out_of_order) and (
            self.server_mib_most - self.server_mib_before < 64
        )


@contextmanager
def server(folder: Path, slots: int) -> Iterator[tuple[subprocess.Popen[bytes], v1.JobServiceClient]]:
    """A server in a process of its own, and a client; it is killed at the end."""
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(folder), str(slots)])
    try:
        addresses = _until(lambda: _addresses(folder, process.pid))
        transport = v1.JobServiceClient.get_transport_class("grpc")
        yield process, v1.JobServiceClient(transport=transport(channel=grpc.insecure_channel(addresses["grpc"])))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def series(folder: Path, jobs: int, slots: int, kill_after: int | None) -> Result:
    """Submit all jobs at once and wait for their end; kill the server when `kill_after` of them have ended."""
    began = time.monotonic()
    with server(folder, slots) as (process, client):
        before = most = _memory(process.pid)
        with ThreadPoolExecutor(8) as threads:
            names = list(threads.map(lambda number: _submit(client, number), range(jobs)))
        submitted = time.monotonic() - began
        while (ended := _ended(client)) < (kill_after or jobs):
            most = max(most, _memory(process.pid))
            _check_time(began)
            time.sleep(0.1)
    while ended < jobs:
        with server(folder, slots) as (process, client):
            while (ended := _ended(client)) < jobs:
                most = max(most, _memory(process.pid))
                _check_time(began)
                time.sleep(0.1)
    total = time.monotonic() - began
    lost, twice, disorder = _judge(folder, names)
    return Result(jobs, slots, kill_after, submitted, total, lost, twice, disorder, before, most)


def _judge(folder: Path, names: list[str]) -> tuple[int, int, int]:
    """How many jobs did not succeed, ran more than once, started before one that was queued earlier."""
    files = JobFiles(folder / "jobs")
    queued, launched, lost, twice = {}, {}, 0, 0
    for number, name in enumerate(names):
        events = files.events(name)
        lines = [entry.message for entry in files.read_log(name).entries if entry.replica != "service"]
        lost += (
            not any(event.kind == "end" and event.state == "SUCCEEDED" for event in events) or str(number) not in lines
        )
        twice += len(lines) > 1
        queued[name] = events[0].time
        launched[name] = next(event.time for event in events if event.kind == "launch")
    by_queue = sorted(names, key=queued.__getitem__)
    disorder = sum(launched[one] > launched[other] for one, other in itertools.pairwise(by_queue))
    return lost, twice, disorder


def _submit(client: v1.JobServiceClient, number: int) -> str:
    container = {
        "image_uri": "none",
        "command": ["python", "-c", PROGRAM],
        "env": [{"name": "NUMBER", "value": str(number)}],
    }
    pool = {"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}
    job = {"display_name": f"job {number}", "job_spec": {"worker_pool_specs": [pool]}}
    return str(client.create_custom_job(parent=PARENT, custom_job=v1.CustomJob(job)).name)


def _ended(client: v1.JobServiceClient) -> int:
    states = ("SUCCEEDED", "FAILED", "CANCELLED")
    wanted = " OR ".join(f'state="JOB_STATE_{state}"' for state in states)
    return sum(1 for _ in client.list_custom_jobs(request={"parent": PARENT, "filter": wanted, "page_size": 1000}))


def _addresses(folder: Path, pid: int) -> dict[str, Any] | None:
    """Where the server of this process listens; None before it does."""
    try:
        found: dict[str, Any] = json.loads((folder / "server.json").read_text())
    except (FileNotFoundError, ValueError):
        return None
    return found if found["process"] == pid else None


def _until(value: Any) -> Any:
    deadline = time.monotonic() + 60
    while (found := value()) is None:
        if time.monotonic() > deadline:
            raise SystemExit("the server does not start")
        time.sleep(0.02)
    return found


def _check_time(began: float) -> None:
    if time.monotonic() - began > PATIENCE_SECONDS:
        raise SystemExit(f"jobs have not ended after {PATIENCE_SECONDS:g} s")


def _memory(pid: int) -> float:
    """Resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def main() -> int:
    """Run both series and print what they showed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--json", type=Path, help="also write the numbers here")
    options = parser.parse_args()
    results = []
    for kill_after in (None, options.jobs // 2):
        with tempfile.TemporaryDirectory() as folder:
            result = series(Path(folder), options.jobs, options.slots, kill_after)
        results.append(result)
        print("\n".join(f"{name:>18} {_shown(value)}" for name, value in asdict(result).items()))
        print(f"{'passed':>18} {result.passed}\n")
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=2) + "\n")
    return 0 if all(result.passed for result in results) else 1


def _shown(value: Any) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
