"""The container's entry point: `python -m trainer.launch ARGUMENTS` starts `python -m trainer ARGUMENTS` once a GPU.

On a machine without GPU it starts one process. Ranks come from CLUSTER_SPEC (trainer.cluster). SIGTERM
is passed on, so that the workers save a checkpoint; when one process fails, the others are ended and its
exit code is this one's. torch is not imported here.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from trainer.cluster import Node, node_from
from trainer.errors import ConfigError, TrainerError

GRACE_SECONDS = 15.0
"""From SIGTERM to SIGKILL for the processes that a failed one leaves behind."""
SMALL_SHM_BYTES = 1 << 30


def main(arguments: Sequence[str]) -> int:
    """Run the node's processes to their end; the exit code of the first that failed, else 0."""
    try:
        node = node_from(os.environ)
        processes = _processes_per_node(os.environ)
    except TrainerError as error:
        print(f"trainer: {error.sentence}", file=sys.stderr)
        return error.exit_code
    for line in describe_machine(node, processes):
        print(f"launch: {line}", file=sys.stderr, flush=True)
    children: list[subprocess.Popen[bytes]] = []
    stopping = _Stopping(children)
    signal.signal(signal.SIGTERM, stopping)
    signal.signal(signal.SIGINT, stopping)
    for environment in worker_environments(os.environ, node, processes):
        children.append(subprocess.Popen([sys.executable, "-m", "trainer", *arguments], env=environment))
    if stopping.requested:
        stopping.forward()
    return _supervise(children, stopping)


def worker_environments(base: Mapping[str, str], node: Node, processes: int) -> list[dict[str, str]]:
    """The environment of each of the node's processes: TRAINER_RANK and its kin, in local order."""
    world_size = node.count * processes
    master = node.master
    if world_size > 1 and master.endswith(":0"):
        master = f"127.0.0.1:{_free_port()}"
    return [
        {
            **base,
            "TRAINER_RANK": str(node.rank * processes + local),
            "TRAINER_LOCAL_RANK": str(local),
            "TRAINER_WORLD_SIZE": str(world_size),
            "TRAINER_MASTER": master,
            "TRAINER_PARENT": str(os.getpid()),
        }
        for local in range(processes)
    ]


def describe_machine(node: Node, processes: int) -> list[str]:
    """What this machine means for the run, in plain words."""
    world_size = node.count * processes
    lines = [
        f"node {node.rank + 1} of {node.count}, {_count(processes, 'process', 'processes')} here, "
        + (f"{world_size} workers meet at {node.master}" if world_size > 1 else "no process group")
    ]
    shm = Path("/dev/shm")
    if shm.is_dir():
        size = shutil.disk_usage(shm).total
        if size < SMALL_SHM_BYTES and processes > 1:
            lines.append(
                f"/dev/shm has {size >> 20} MiB: the loader needs none of it, but NCCL may; "
                "set NCCL_SHM_DISABLE=1 if it reports a bus error"
            )
    gcs = Path("/gcs")
    lines.append(
        "/gcs is there: gs:// paths are read and written through it"
        if gcs.is_dir()
        else "/gcs is not there: only local paths can be used"
    )
    return lines


def _processes_per_node(environment: Mapping[str, str]) -> int:
    """One a GPU that this container sees, else one; TRAINER_PROCESSES_PER_NODE overrules."""
    text = environment.get("TRAINER_PROCESSES_PER_NODE")
    if text is None:
        visible = environment.get("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            return max(1, len([device for device in visible.split(",") if device.strip() not in ("", "-1")]))
        return max(1, len(list(Path("/dev").glob("nvidia[0-9]*"))))
    if not text.isdigit() or int(text) < 1:
        raise ConfigError(
            f"{text!r} is not a number of processes", where="TRAINER_PROCESSES_PER_NODE", remedy="give 1 or more"
        )
    return int(text)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Stopping:
    """Passes the signal that asked this process to end on to the children."""

    def __init__(self, children: list[subprocess.Popen[bytes]]) -> None:
        self._children = children
        self.requested = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        self.forward()

    def forward(self) -> None:
        for child in self._children:
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)


def _supervise(children: list[subprocess.Popen[bytes]], stopping: _Stopping) -> int:
    code = 0
    running = list(children)
    while running:
        for child in list(running):
            if child.poll() is None:
                continue
            running.remove(child)
            if code == 0 and child.returncode != 0:
                code = _exit_code(child.returncode)
                if not stopping.requested:
                    _end(running)
        time.sleep(0.02)
    return code


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    """End what a failed process leaves: it would wait for ever in a collective operation."""
    for child in children:
        child.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    for child in children:
        try:
            child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()


def _exit_code(code: int) -> int:
    """As a shell reports it: 128 + the signal that ended a process."""
    return 128 - code if code < 0 else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
