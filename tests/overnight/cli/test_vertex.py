import os
import signal
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest

from support import overnight


@pytest.fixture
def serving(tmp_path):
    """A server as a process of its own; yields its folder."""
    folder = tmp_path / "vertex"
    command = [sys.executable, "-m", "overnight", "vertex", "serve", "--folder", str(folder)]
    ports = ["--grpc-port", "0", "--tls-port", "0", "--rest-port", "0"]
    with subprocess.Popen([*command, *ports], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(5)]
        yield folder, lines, process
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


def vertex(*arguments, cwd, expect=(0,)):
    return overnight("vertex", *arguments, cwd=cwd, environment=dict(os.environ), expect=expect)


def test_the_server_says_how_to_reach_it_and_obeys(serving, tmp_path):
    folder, lines, _ = serving
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["gRPC", "gRPC,", "REST", "Folder"]
    rest = next(line.split()[1] for line in lines if line.startswith("REST"))
    with urllib.request.urlopen(f"{rest}/v1/projects/p/locations/l/models", timeout=10) as answer:
        assert answer.status == 200
    said = vertex("advance", "3600", "--folder", str(folder), cwd=tmp_path).stdout
    now = datetime.fromisoformat(said.split()[-1])
    assert abs(now - datetime.now(UTC) - timedelta(hours=1)) < timedelta(seconds=30)
    missing = "projects/p/locations/l/customJobs/7"
    refused = vertex("preempt", missing, "--folder", str(folder), cwd=tmp_path, expect=(2,))
    assert "does not exist" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("advance", "1"), "no local Vertex AI runs in this folder"),
        (("preempt", "x"), "start it: overnight vertex serve"),
        (("serve", "--stockout", "a2-highgpu-1g"), "write it like a2-highgpu-1g=2"),
        (("serve", "--tls-cert", "x.pem"), "a certificate and its key belong together"),
        (("serve", "--tls-cert", "x.pem", "--tls-key", "y.pem"), "y.pem"),
    ],
)
def test_what_a_user_can_put_right_is_one_sentence(tmp_path, arguments, says):
    done = vertex(*arguments, cwd=tmp_path, expect=(2,))
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
