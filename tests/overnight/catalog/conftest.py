"""A folder of class folders, and the command as a process."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from overnight.catalog.catalogue import Image, read


@dataclass(frozen=True)
class Place:
    """An environment, and pictures to import into it; their bytes do not matter here."""

    base: Path

    @property
    def pictures(self) -> Path:
        return self.base / "pictures"

    @property
    def config(self) -> Path:
        path = self.base / "env.yaml"
        path.write_text(f"environment: test\nroot: {self.base / 'data'}\n")
        return path

    def put(self, source: str, data: bytes = b"") -> Path:
        path = self.pictures / source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data or source.encode())
        return path

    def table(self, text: str, name: str = "images.csv") -> Path:
        self.pictures.mkdir(exist_ok=True)
        path = self.pictures / name
        path.write_text(text)
        return path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "overnight", "import", *arguments, "--config", str(self.config)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": "100"},
        )

    def catalogue(self) -> dict[str, Image]:
        return read(self.base / "data" / "catalog" / "images.parquet")

    def labels(self) -> list[tuple[str, str, str | None]]:
        with duckdb.connect(str(self.base / "data" / "labels.duckdb"), read_only=True) as database:
            return database.execute("SELECT key, label, group_id FROM labels ORDER BY key").fetchall()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
