"""The launchers of a run meet before they start anything, and stay in touch until all have ended.

Replicas of one Vertex AI job start minutes apart (Snapchat/GiGL#348), longer than frameworks wait by default (JAX
5 minutes, NCCL groups 10). So the launchers wait instead, and start their processes at about the same moment. The
connection then stays: a failure anywhere ends all, and the primary, whose end is the job's end, goes last.

The primary listens at its address in CLUSTER_SPEC until all have come. Messages are JSON lines: `{node, nodes,
processes, image}` from a node, `{port}` or `{refused, where, remedy}` back, `{node, code}` when a node ends or fails.
"""

import contextlib
import random
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from trainer.cluster import Node
from trainer.errors import ConfigError, TrainerError
from trainer.wire import Wire

WENT_AWAY = 75
"""EX_TEMPFAIL of sysexits.h: the exit code where another launcher vanished without a word."""
_LONGEST_PAUSE = 2.0
_MASTER_PORTS = range(20_000, 30_000)
"""Below the ports that Linux gives to outgoing connections, so that none is in the way some seconds later."""


class JoinTimeout(TrainerError):
    """Not all replicas came in time; a restarted run may have more luck."""

    exit_code = WENT_AWAY


class StoppedEarly(TrainerError):
    """SIGTERM came while this launcher waited for the others."""

    exit_code = 143


@dataclass(frozen=True)
class Terms:
    """What must be the same on every node."""

    processes: int
    image: str | None = None
    """The digest of the image that it runs in; None where none is known."""


@dataclass(frozen=True)
class Failure:
    """A node that ended badly."""

    node: int
    code: int


@dataclass(frozen=True)
class Patience:
    """How long to wait for the others, and whether to go on waiting."""

    seconds: float
    stopped: Callable[[], bool]
    began: float
    """On the monotonic clock."""

    def wait(self, pause: float, missing: str) -> None:
        """Sleep for `pause` seconds; raises JoinTimeout or StoppedEarly when it is time."""
        if self.stopped():
            raise StoppedEarly(f"stopped while waiting for {missing}")
        if time.monotonic() - self.began > self.seconds:
            raise JoinTimeout(
                f"{missing} did not come within {self.seconds / 60:g} minutes",
                remedy="look for its log, and give --join-timeout more minutes if it was only late",
            )
        time.sleep(pause)


class Crew:
    """The other launchers: for the primary all of them, for another node the primary."""

    def __init__(self, own: int, wires: dict[int, Wire], port: int) -> None:
        self._own = own
        self._wires = wires
        self.port = port
        """Free on the primary: MASTER_PORT of the run."""

    def failure(self) -> Failure | None:
        """A failure that another node reports or that its silence is; None while all is well."""
        for node, wire in list(self._wires.items()):
            try:
                message = wire.receive()
            except EOFError:
                del self._wires[node]
                return Failure(node, WENT_AWAY)
            if message is None:
                continue
            code = int(message.get("code", WENT_AWAY))
            if code != 0:
                return Failure(int(message.get("node", node)), code)
            self._wires.pop(node).close()
        return None

    def tell(self, failure: Failure) -> None:
        """Tell the others how a node ended."""
        for wire in self._wires.values():
            wire.send(node=failure.node, code=failure.code)

    def report_success(self) -> None:
        """Tell the primary that this node has ended well. The primary itself says nothing: the others still run."""
        if self._own != 0:
            self.tell(Failure(self._own, 0))

    def wait_for_others(self, seconds: float, stopped: Callable[[], bool]) -> Failure | None:
        """On the primary: return when every other node has ended well, one failed, or the time is over."""
        deadline = time.monotonic() + seconds
        while self._own == 0 and self._wires and time.monotonic() < deadline and not stopped():
            if (failure := self.failure()) is not None:
                return failure
            time.sleep(0.02)
        return None

    @property
    def unfinished(self) -> list[int]:
        """On the primary: nodes that have not ended."""
        return sorted(self._wires) if self._own == 0 else []

    def close(self) -> None:
        """Let go."""
        for wire in self._wires.values():
            wire.close()


def meet(node: Node, terms: Terms, seconds: float, stopped: Callable[[], bool]) -> Crew:
    """Return when the launchers of all nodes are there; at once where this node is the only one.

    Raises JoinTimeout, StoppedEarly, and ConfigError where another node comes on other terms.
    """
    patience = Patience(seconds, stopped, time.monotonic())
    if node.count == 1:
        return Crew(node.rank, {}, free_port())
    return _lead(node, terms, patience) if node.rank == 0 else _follow(node, terms, patience)


def free_port() -> int:
    """A port that nobody listens on here."""
    for port in random.SystemRandom().sample(_MASTER_PORTS, 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            return port
    raise TrainerError("no port is free between 20000 and 29999", where="MASTER_PORT")


def _lead(node: Node, terms: Terms, patience: Patience) -> Crew:
    wires: dict[int, Wire] = {}
    visitors: list[Wire] = []
    with _listening(node.master, patience) as listener:
        while len(wires) < node.count - 1:
            patience.wait(0.02, _missing(node, wires))
            with contextlib.suppress(BlockingIOError):
                visitors.append(Wire(listener.accept()[0]))
            for hello, wire in _greetings(visitors):
                wires[hello["node"]] = wire
                _check_terms(hello, node, terms, wires)
            _drop_the_lost(wires)
    crew = Crew(0, wires, free_port())
    for wire in wires.values():
        wire.send(port=crew.port)
    return crew


def _follow(node: Node, terms: Terms, patience: Patience) -> Crew:
    pause = 0.05
    while True:
        with contextlib.suppress(OSError, EOFError):
            wire = _call(node.master)
            wire.send(node=node.rank, nodes=node.count, processes=terms.processes, image=terms.image)
            while (answer := wire.receive()) is None:
                patience.wait(0.02, f"the others of {node.count} replicas")
            if "refused" in answer:
                raise ConfigError(
                    str(answer["refused"]), where=str(answer.get("where")), remedy=str(answer.get("remedy"))
                )
            if "port" in answer:
                return Crew(node.rank, {0: wire}, int(answer["port"]))
        patience.wait(pause, f"the primary at {node.master}")
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _call(master: str) -> Wire:
    """Raises OSError where the primary does not listen, or its machine is not known yet: at the start, the rule."""
    host, _, port = master.rpartition(":")
    connection = socket.create_connection((host, int(port)), timeout=5)
    # A connection to a free port of this machine can come out at that very port and meet itself.
    if connection.getsockname() == connection.getpeername():
        connection.close()
        raise ConnectionRefusedError
    return Wire(connection)


@contextlib.contextmanager
def _listening(master: str, patience: Patience) -> Iterator[socket.socket]:
    host, _, port = master.rpartition(":")
    interface = host if host in ("127.0.0.1", "localhost") else ""
    while True:
        try:
            listener = socket.create_server((interface, int(port)), backlog=128)
            break
        except OSError:  # a process of an earlier attempt is still letting go of it
            patience.wait(0.2, f"port {port} of this machine")
    with listener:
        listener.setblocking(False)
        yield listener


def _greetings(visitors: list[Wire]) -> list[tuple[dict[str, Any], Wire]]:
    """Visitors that have said who they are; these, and those that are nobody of ours, are taken off the list."""
    found = []
    for visitor in list(visitors):
        try:
            hello = visitor.receive()
        except EOFError:
            hello = {}
        if hello is None:
            continue
        visitors.remove(visitor)
        if all(isinstance(hello.get(name), int) for name in ("node", "nodes", "processes")):
            found.append((hello, visitor))
        else:
            visitor.close()
    return found


def _check_terms(hello: dict[str, Any], node: Node, terms: Terms, wires: dict[int, Wire]) -> None:
    """Raise ConfigError, and have all raise it that are there, when the other node comes on other terms than this."""
    refusal = _uneven(hello, node, terms) or _another_image(hello, terms)
    if refusal is not None:
        for wire in wires.values():
            wire.send(refused=refusal.problem, where=refusal.where, remedy=refusal.remedy)
        raise refusal


def _uneven(hello: dict[str, Any], node: Node, terms: Terms) -> ConfigError | None:
    if (hello["nodes"], hello["processes"]) == (node.count, terms.processes):
        return None
    return ConfigError(
        f"node {hello['node']} has {hello['processes']} processes in {hello['nodes']} nodes, "
        f"node 0 has {terms.processes} in {node.count}",
        where="--nproc-per-node",
        remedy="give pools 0 and 1 the same machines, or every replica the same number",
    )


def _another_image(hello: dict[str, Any], terms: Terms) -> ConfigError | None:
    if hello.get("image") == terms.image:
        return None
    unknown = "an image of no known digest"
    return ConfigError(
        f"node {hello['node']} runs in {hello.get('image') or unknown}, node 0 in {terms.image or unknown}",
        where="imageUri",
        remedy="pin the same image in pools 0 and 1",
    )


def _drop_the_lost(wires: dict[int, Wire]) -> None:
    """A launcher that came and was restarted comes again."""
    for node, wire in list(wires.items()):
        try:
            wire.receive()
        except EOFError:
            wires.pop(node).close()


def _missing(node: Node, wires: dict[int, Wire]) -> str:
    absent = [str(number) for number in range(1, node.count) if number not in wires]
    return f"node {', '.join(absent)} of {node.count}"
