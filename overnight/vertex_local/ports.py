"""Free ports on loopback for the replicas of a job."""

import contextlib
import socket
from collections.abc import Iterable

from overnight.vertex_local.cluster import ReplicaName

HOST = "127.0.0.1"


def free_addresses(replicas: Iterable[ReplicaName]) -> dict[ReplicaName, str]:
    """A distinct free `host:port` for each replica; all are held open until the last one is found."""
    addresses: dict[ReplicaName, str] = {}
    with contextlib.ExitStack() as held:
        for replica in replicas:
            listener = held.enter_context(socket.socket())
            listener.bind((HOST, 0))
            addresses[replica] = f"{HOST}:{listener.getsockname()[1]}"
    return addresses
