"""A folder of class folders, and the command."""

import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from overnight.catalog.catalogue import Image, read
from overnight.cli import main


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

    def catalogue(self) -> dict[str, Image]:
        return read(self.base / "data" / "catalog" / "images.parquet")

    def labels(self) -> list[tuple[str, str, str | None]]:
        with duckdb.connect(str(self.base / "data" / "labels.duckdb"), read_only=True) as database:
            return database.execute("SELECT key, label, group_id FROM labels ORDER BY key").fetchall()


@pytest.fixture
def command(place, monkeypatch, capsys):
    """`overnight import …` in the place's environment; returns (code, stdout, stderr)."""

    def run(*arguments):
        words = ["overnight", "import", *map(str, arguments), "--config", str(place.config)]
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main.run()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return run


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
