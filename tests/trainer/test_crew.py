"""Real launchers on loopback: how they find each other, and what they do when they do not."""

import json
import signal
import socket
import time
from pathlib import Path

from launchers import TWO, Start, addresses, ended, script


def test_the_port_of_cluster_spec_is_free_for_the_command(tmp_path: Path, start: Start) -> None:
    text = """
import json, os, socket
if os.environ["RANK"] == "0":
    host, port = json.loads(os.environ["CLUSTER_SPEC"])["cluster"]["workerpool0"][0].split(":")
    socket.create_server((host, int(port))).close()
"""
    assert ended(start(TWO, ["--", *script(tmp_path, text)])) == [0, 0]


def test_whoever_waits_in_vain_says_for_whom_and_ends_with_75(start: Start) -> None:
    (primary, worker) = start(TWO, ["--join-timeout", "0.01", "--", "true"])
    worker.kill()
    assert primary.wait(60) == 75
    assert primary.stderr is not None
    assert primary.stderr.read().splitlines()[-1].startswith("trainer: node 1 of 2 did not come within 0.01 minutes")


def test_a_signal_while_waiting_ends_the_wait(start: Start) -> None:
    (_, worker) = processes = start(TWO, ["--", "true"])
    processes[0].kill()
    assert worker.stderr is not None
    for line in worker.stderr:
        if "waiting up to 45 minutes" in line:
            break
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(60) == 143


def test_machines_with_other_numbers_of_processes_are_refused(start: Start) -> None:
    cluster = {"workerpool0": [addresses(TWO)["workerpool0"][0]], "workerpool1": ["127.0.0.1:1"]}
    both = []
    for (pool, index), count in zip(TWO, ("1", "2"), strict=True):
        spec = json.dumps({"cluster": cluster, "task": {"type": pool, "index": index}})
        both += start([(pool, index)], ["--nproc-per-node", count, "--", "true"], CLUSTER_SPEC=spec)
    assert ended(both) == [2, 2]
    for process in both:
        assert process.stderr is not None
        assert "node 1 has 2 processes in 2 nodes, node 0 has 1 in 2" in process.stderr.read()


def test_nobody_is_disturbed_by_strangers_at_the_door(tmp_path: Path, start: Start) -> None:
    command = ["true"]
    hosts = addresses(TWO)
    specs = [json.dumps({"cluster": hosts, "task": {"type": pool, "index": index}}) for pool, index in TWO]
    (primary,) = start(TWO[:1], ["--", *command], CLUSTER_SPEC=specs[0])
    port = int(hosts["workerpool0"][0].rpartition(":")[2])
    strangers = []
    for greeting in (b"GET / HTTP/1.1\r\n\r\n", b"{}\n", b"3\n", b""):
        while True:
            try:
                strangers.append(socket.create_connection(("127.0.0.1", port), timeout=5))
                break
            except ConnectionRefusedError:
                time.sleep(0.02)
        strangers[-1].sendall(greeting)
    (worker,) = start(TWO[1:], ["--", *command], CLUSTER_SPEC=specs[1])
    assert ended([primary, worker]) == [0, 0]
    for stranger in strangers:
        stranger.close()
