"""What the engine and the services of one server stand on: its folder, its store, its clock, and a signal."""

import threading
from pathlib import Path

from overnight.vertex_local.settings import Settings
from overnight.vertex_local.state.clock import Clock
from overnight.vertex_local.state.operations import Operations
from overnight.vertex_local.state.resource import Resources
from overnight.vertex_local.state.store import Store


class Ground:
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
