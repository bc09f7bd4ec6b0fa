"""Small build files, run on this machine with recorded commands in the place of container tools."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from overnight.builds.file import BuildFile, parse
from overnight.builds.result import BuildResult, Pushed
from overnight.builds.runner import RunOptions, run_build
from overnight.builds.step import Place

BUILD_ID = "11111111-2222-3333-4444-555555555555"
START = datetime(2026, 3, 3, 2, 0, tzinfo=UTC)
NAME = "localhost:5005/builder@sha256:" + "0" * 64
GIVEN = {
    "PROJECT_ID": "local",
    "LOCATION": "local",
    "BUILD_ID": BUILD_ID,
    "COMMIT_SHA": "c" * 40,
    "_REPOSITORY": "localhost:5005/images",
    "_SOURCE": "https://github.com/acme/vision",
    "_BUILDER_IMAGE": NAME,
    "_POOL": "",
}


def build_file(text: str, path: Path = Path("build.yaml")) -> BuildFile:
    """The build that a text holds."""
    reading = parse(path, text)
    assert reading.build is not None, reading.findings
    return reading.build


class Ticking:
    """A clock that goes on by a second at each look."""

    def __init__(self) -> None:
        self.looks = 0

    def __call__(self) -> datetime:
        self.looks += 1
        return START + timedelta(seconds=self.looks)


@dataclass
class Log:
    """Follows a build."""

    lines: list[str] = field(default_factory=list)
    parts: list[tuple[int, int, str]] = field(default_factory=list)

    def line(self, text: str) -> None:
        self.lines.append(text)

    def began(self, number: int, total: int, what: str) -> None:
        self.parts.append((number, total, what))

    def tick(self) -> None:
        pass


@dataclass
class House:
    """Where a build runs."""

    folder: Path
    log: Log = field(default_factory=Log)
    pushed: list[str] = field(default_factory=list)
    attested: list[Pushed] = field(default_factory=list)
    tidied: int = 0

    @property
    def place(self) -> Place:
        return Place(self.folder / "place")

    @property
    def workspace(self) -> Path:
        return self.place.workspace

    def push(self, image: str, line: Any) -> str:
        self.pushed.append(image)
        line("pushed")
        return "sha256:" + f"{len(self.pushed):064x}"

    def attest(self, image: Pushed) -> str | None:
        self.attested.append(image)
        return None

    def tidy(self) -> None:
        self.tidied += 1

    def run(self, text: str, given: Mapping[str, str] | None = None, **options: Any) -> BuildResult:
        """Run the steps of a build file."""
        self.workspace.mkdir(parents=True, exist_ok=True)
        defaults: dict[str, Any] = {
            "build_id": BUILD_ID,
            "place": self.place,
            "records": self.folder / "builds",
            "given": {**GIVEN, **(given or {})},
            "containers": {},
            "push": self.push,
            "attest": self.attest,
            "listener": self.log,
            "clock": Ticking(),
            "tidy": self.tidy,
        }
        return run_build(build_file(text), RunOptions(**{**defaults, **options}))

    @property
    def said(self) -> list[str]:
        """What steps printed, without the prefix."""
        return [line.partition(": ")[2] for line in self.log.lines if line.startswith("Step #")]


def recorded(folder: Path, name: str, body: str = "") -> Path:
    """A command that writes down how it was called; the file with its calls."""
    calls = folder / "calls"
    program = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{calls}"\n{body}\n')
    program.chmod(0o755)
    return calls


def git(folder: Path, *arguments: str) -> str:
    """Run git there; what it prints."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
