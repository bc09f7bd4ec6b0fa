"""How a mistake is made in a build file that is in order, and what is said about it."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from overnight.builds.check import check
from overnight.builds.file import parse
from overnight.forms.findings import Finding

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "tests" / "overnight" / "builds" / "data" / "house"
"""A small repository whose build has something of everything."""
FILES = {
    "house": HOUSE / "cloudbuild.yaml",
    **{path.stem: path for path in sorted((ROOT / "cloudbuild").glob("*.yaml"))},
}
Build = dict[str, Any]


@dataclass(frozen=True)
class Mistake:
    """A mistake in one file."""

    name: str
    file: str
    make: Callable[[Build], object]
    expected: tuple[str, ...]

    @property
    def label(self) -> str:
        """What a test of it is called."""
        return f"{self.file}-{self.name}"


def build_of(file: str) -> Build:
    """The file's data, free to be changed."""
    data: Build = YAML(typ="safe", pure=True).load(FILES[file].read_text())
    return data


def text_of(build: object) -> str:
    """Data as YAML."""
    written = StringIO()
    YAML(typ="safe", pure=True).dump(build, written)
    return written.getvalue()


def found_in(text: str, file: str) -> list[Finding]:
    """Everything that is said about a text in the place of a file."""
    reading = parse(FILES[file], text)
    root = HOUSE if file == "house" else ROOT
    return list(reading.findings) if reading.build is None else check(reading.build, root=root)


@cache
def found(mistake: Mistake) -> list[Finding]:
    """What is said about the file with the mistake in it."""
    build = build_of(mistake.file)
    before = deepcopy(build)
    mistake.make(build)
    assert build != before, "the mistake changes nothing"
    return found_in(text_of(build), mistake.file)


def step(build: Build, name: str) -> Build:
    """The step with this id."""
    wanted: Build = next(one for one in build["steps"] if one.get("id") == name)
    return wanted


def swap(build: Build, name: str, old: str, new: str) -> None:
    """Replace in the script or the args of a step."""
    one = step(build, name)
    if "script" in one:
        assert old in one["script"], old
        one["script"] = one["script"].replace(old, new)
    else:
        assert any(old in word for word in one["args"]), old
        one["args"] = [word.replace(old, new) for word in one["args"]]


def add(build: Build, name: str, line: str) -> None:
    """A line more in a step's script."""
    step(build, name)["script"] += f"{line}\n"


def drop(build: Build, name: str, *words: str) -> None:
    """Take an option and its value out of a step's args."""
    args = step(build, name)["args"]
    place = next(place for place in range(len(args)) if args[place : place + len(words)] == list(words))
    del args[place : place + len(words)]


def also(build: Build, **fields: Any) -> None:
    """One step more."""
    build["steps"].append({"name": "$_BUILDER_IMAGE", **fields})


def mistakes(file: str, *entries: tuple[str, Callable[[Build], object], str]) -> list[Mistake]:
    """Mistakes in one file; expected ids are separated by spaces."""
    return [Mistake(name, file, make, tuple(sorted(expected.split()))) for name, make, expected in entries]
