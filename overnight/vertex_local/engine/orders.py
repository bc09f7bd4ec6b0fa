"""What the server may ask of a job process while it runs. A file, not signals: it is there before the process is."""

from enum import StrEnum
from pathlib import Path

from overnight.vertex_local.engine.events import append_line
from overnight.vertex_local.logs import Follower


class Order(StrEnum):
    """An order, the strongest first."""

    CANCEL = "cancel"
    STOP = "stop"
    """The server ends; the next one starts the job again."""
    INTERRUPT = "interrupt"
    """The persistent resource reboots."""
    PREEMPT = "preempt"


def give(path: Path, order: Order) -> None:
    """Add an order to the launch's file."""
    append_line(path, order)


class Orders:
    """The job process's end."""

    def __init__(self, path: Path) -> None:
        self._follower = Follower(path, position=0)
        self._given: set[Order] = set()

    def strongest(self) -> Order | None:
        """The strongest order so far."""
        self._given.update(Order(line) for line in self._follower.lines())
        return next((order for order in Order if order in self._given), None)
