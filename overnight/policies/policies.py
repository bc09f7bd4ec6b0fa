"""Rules in one engine: load them, hold a document against them, run their own tests."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from overnight.policies.engines import Document, Engine, start
from overnight.policies.errors import PolicyError
from overnight.policies.finding import Finding, Level

PACKAGE = re.compile(r"^package (\S+)", re.MULTILINE)
TEST = re.compile(r"^test_\w+", re.MULTILINE)
LEVELS: tuple[Level, ...] = ("deny", "warn")


def root() -> Path:
    """The folder of all policies: the checkout's `policies/`, or the copy that the wheel carries (pyproject.toml)."""
    packaged = Path(__file__).parent / "rego"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "policies"


def folders(subject: str) -> tuple[Path, ...]:
    """What judges one kind of document, such as `terraform` or `cloudbuild`: its rules, and what all rules share."""
    return (root() / "lib", root() / subject)


@dataclass(frozen=True)
class Policies:
    """Rules in one engine."""

    engine: Engine
    tests: tuple[str, ...]

    @classmethod
    def load(cls, folders: Sequence[Path], engine: str = "regorus") -> "Policies":
        """Every .rego file under `folders`; PolicyError names the file and line that does not parse."""
        files = [file for folder in folders for file in sorted(folder.rglob("*.rego"))]
        if not files:
            where = ", ".join(str(folder) for folder in folders)
            raise PolicyError("no .rego file", where=where, remedy="give the folders of the policies")
        started = start(engine)
        tests: list[str] = []
        for file in files:
            text = file.read_text(encoding="utf-8")
            started.add(str(file), text)
            package = PACKAGE.search(text)
            tests += [f"{package[1]}.{name}" for name in TEST.findall(text) if package]
        return cls(started, tuple(dict.fromkeys(tests)))

    def judge(self, document: Document, today: date | None = None, data: Document | None = None) -> list[Finding]:
        """What the rules say to a document, in the order of ids and addresses.

        `today` is what rules read as data.now (without it a plan's own time decides which pools have expired);
        `data` is whatever else they read beside the document.
        """
        beside = {**(data or {}), **({"now": today.isoformat()} if today else {})}
        found = [
            Finding.of(message, level)
            for level in LEVELS
            for message in self.engine.value(f"main.{level}", document, beside) or ()
        ]
        return sorted(found, key=lambda finding: (finding.id, finding.address, finding.problem))

    def run_tests(self) -> dict[str, bool]:
        """Every `test_` rule by name, and whether it holds."""
        return self.engine.hold(self.tests)
