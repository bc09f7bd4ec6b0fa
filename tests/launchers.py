"""Real launchers on loopback: replicas of a job as processes of this machine."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LAUNCH = [sys.executable, "-m", "trainer.launch"]
Replica = tuple[str, int]
Start = Callable[..., list["subprocess.Popen[str]"]]
TWO: list[Replica] = [("workerpool0", 0), ("workerpool1", 0)]


def launcher(
    cluster: dict[str, list[str]], replica: Replica, arguments: list[str], variables: dict[str, str]
) -> "subprocess.Popen[str]":
    """The launcher of one replica, with nothing of this machine's own job in its environment."""
    pool, index = replica
    spec = {"cluster": cluster, "task": {"type": pool, "index": index}, "environment": "cloud", "job": "{}"}
    own = {"CLUSTER_SPEC": json.dumps(spec), "CUDA_VISIBLE_DEVICES": "", "REPLICA": f"{pool}-{index}"}
    foreign = ("AIP_", "CLOUD_ML_", "OVERNIGHT_", "TRAINER_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return subprocess.Popen(
        [*LAUNCH, *arguments],
        env={**clean, **own, **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def addresses(replicas: list[Replica]) -> dict[str, list[str]]:
    """`cluster` of CLUSTER_SPEC: a free port for each replica."""
    cluster: dict[str, list[str]] = {}
    probes = []
    for pool, _ in replicas:
        probe = socket.socket()
        probe.bind(("127.0.0.1", 0))
        probes.append(probe)
        cluster.setdefault(pool, []).append(f"127.0.0.1:{probe.getsockname()[1]}")
    for probe in probes:
        probe.close()
    return cluster


def script(folder: Path, text: str) -> list[str]:
    """A command that runs `text` with this Python."""
    path = folder / "script.py"
    path.write_text(text)
    return [sys.executable, str(path)]


def ended(processes: list["subprocess.Popen[str]"], seconds: float = 60) -> list[int]:
    """Exit codes, when all have ended."""
    return [process.wait(seconds) for process in processes]


def wait_for(path: Path) -> None:
    """Return when the file is there."""
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path.name} did not come"
        time.sleep(0.01)
