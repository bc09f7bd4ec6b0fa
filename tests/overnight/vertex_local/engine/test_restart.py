"""Servers that are killed, stopped, started again: no job is lost, none runs twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from overnight.vertex_local.cluster import PRIMARY

SERVER = """
import sys
import threading
from pathlib import Path
from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings
with Server(Path(sys.argv[1]), Settings(machine_slots=1)):
    threading.Event().wait()
"""
GATED = """
import os, pathlib, sys, time
root = pathlib.Path(os.environ["OVERNIGHT_GCS_ROOT"])
print("started", flush=True)
while not (root / "go").exists():
    time.sleep(0.01)
"""


@pytest.fixture
def other_server(tmp_path, client_of):
    """A server in a process of its own on the folder that `serve` uses too; it can be killed."""
    folder = tmp_path / "vertex"
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(folder)])
    deadline = time.monotonic() + 20
    while not (folder / "server.json").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    addresses = json.loads((folder / "server.json").read_text())
    yield client_of(SimpleNamespace(folder=folder, grpc_address=addresses["grpc"])), process
    process.kill()
    process.wait()


def job_processes(folder):
    """The ids of the job processes that live in a server's folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode().split("\0")
        except OSError:
            continue
        if "overnight.vertex_local.engine.job_process" in words and any(word.startswith(str(folder)) for word in words):
            found.append(int(path.parent.name))
    return found


def kill_job_process(client):
    (pid,) = client.until(lambda: job_processes(client.server.folder))
    os.kill(pid, signal.SIGKILL)


def test_a_killed_server_loses_no_job_and_what_runs_goes_on(other_server, serve):
    client, process = other_server
    running = client.submit(GATED)
    client.wait(running, "RUNNING")
    waiting = [client.submit("print('ran')") for _ in range(3)]
    process.kill()
    process.wait()
    assert len(job_processes(client.server.folder)) == 1
    client = serve(machine_slots=1)
    assert client.state(running) == "RUNNING"
    assert [client.state(name) for name in waiting] == ["QUEUED"] * 3
    client.bucket("go").parent.mkdir(exist_ok=True)
    client.bucket("go").touch()
    for name in (running, *waiting):
        assert client.wait(name).state.name == "JOB_STATE_SUCCEEDED"
        assert client.count(name, "launch") == 1
    assert client.log(running) == ["started"]


def test_a_job_that_ended_while_there_was_no_server_is_known_to_the_next(other_server, serve):
    client, process = other_server
    name = client.submit(GATED)
    client.wait(name, "RUNNING")
    process.kill()
    process.wait()
    client.bucket("go").parent.mkdir(exist_ok=True)
    client.bucket("go").touch()
    client.until(lambda: not job_processes(client.server.folder))
    client = serve()
    job = client.job(name)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert job.start_time < job.end_time


def test_a_job_that_died_with_its_server_is_started_again(other_server, serve):
    client, process = other_server
    name = client.submit(GATED)
    # What the replica wrote is in its file; whether it is an entry of the log yet is left open.
    client.until(lambda: client.files.folder(name).output(PRIMARY).exists())
    client.until(lambda: client.files.folder(name).output(PRIMARY).read_text())
    process.kill()
    process.wait()
    kill_job_process(client)
    client = serve()
    client.until(lambda: client.count(name, "launch") == 2)
    client.bucket("go").parent.mkdir(exist_ok=True)
    client.bucket("go").touch()
    assert client.wait(name).state.name == "JOB_STATE_SUCCEEDED"
    assert client.log(name) == ["started", "started"]


def test_three_internal_errors_fail_the_job_and_leave_no_process(serve):
    client = serve()
    name = client.submit("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    for attempt in range(1, 4):
        client.until(lambda attempt=attempt: len(client.log(name)) == attempt)
        kill_job_process(client)
    job = client.wait(name)
    assert (job.state.name, job.error.code) == ("JOB_STATE_FAILED", 13)
    assert job.error.message == "Internal error occurred for the current attempt."
    for pid in client.log(name):
        client.until(lambda pid=pid: not Path(f"/proc/{pid}").exists(), seconds=5)


def test_a_stopped_server_stops_its_jobs_with_grace_and_the_next_starts_them_again(serve):
    client = serve()
    program = """
import os, pathlib, signal, sys, time
saved = pathlib.Path(os.environ["OVERNIGHT_GCS_ROOT"], "saved")
if saved.exists():
    sys.exit(0)
saved.parent.mkdir(exist_ok=True)
def save(*_):
    saved.touch()
    sys.exit(1)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(60)
"""
    name = client.submit(program)
    client.until(lambda: client.log(name) == ["ready"])
    client.server.stop()
    assert client.bucket("saved").exists()
    assert not job_processes(client.server.folder)
    client = serve()
    assert client.wait(name).state.name == "JOB_STATE_SUCCEEDED"
    assert (client.count(name, "launch"), client.count(name, "lost")) == (2, 0)


def test_what_was_cancelled_just_before_the_server_was_killed_is_cancelled(other_server, serve, programs):
    client, process = other_server
    name = client.submit(programs.sleep)
    client.wait(name, "RUNNING")
    client.jobs.cancel_custom_job(name=name)
    process.kill()
    process.wait()
    client = serve()
    assert client.wait(name).state.name == "JOB_STATE_CANCELLED"
