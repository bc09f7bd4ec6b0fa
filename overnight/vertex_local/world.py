"""Everything the services of one server share."""

from pathlib import Path

from overnight.vertex_local.engine.engine import Engine
from overnight.vertex_local.ground import Ground
from overnight.vertex_local.settings import Settings


class World(Ground):
    """The ground, and the engine that runs jobs on it."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        super().__init__(folder, settings)
        self.engine = Engine(self)
