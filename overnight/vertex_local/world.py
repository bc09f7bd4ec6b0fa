"""Everything the services of one server share."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from overnight.vertex_local.state.clock import Clock
from overnight.vertex_local.state.operations import Operations
from overnight.vertex_local.state.resource import Resources
from overnight.vertex_local.state.store import Store


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a local Vertex AI is told when it starts."""

    project: str = "overnight-local"
    """The project id whose number is `project_number`; every other id has a number of its own made from it."""
    project_number: str = "100000000001"
    locations: tuple[str, ...] = ()
    """The regions served; empty: any."""
    machine_slots: int = 8
    """Replicas that may run at the same time outside persistent resources; what does not fit stays QUEUED."""
    stockouts: Mapping[str, int] = field(default_factory=dict)
    """Machine type -> how many of the next attempts to get such machines find none."""
    preemption_seed: int | None = None
    """When set, Spot jobs are preempted at moments drawn from this seed; otherwise only when somebody asks."""
    grace_seconds: float = 10.0
    """Seconds between SIGTERM and SIGKILL."""


class World:
    """The folder of a server, what is stored in it, and the signal that there is something to do."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder.absolute()
        self.settings = settings
        self.store = Store(self.folder / "state.sqlite3")
        self.clock = Clock(self.store)
        self.operations = Operations(self.store, self.clock)
        self.resources = Resources(self.store, self.clock)
        self._work = threading.Event()

    def wake(self) -> None:
        """Have every service's `tick` called at once, not only at the next beat."""
        self._work.set()

    def wait(self, seconds: float) -> None:
        """Return when somebody called `wake` since the last call, or after `seconds`."""
        self._work.wait(seconds)
        self._work.clear()

    def close(self) -> None:
        """Close the store."""
        self.store.close()
