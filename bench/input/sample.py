"""One training sample, in every environment: starts the workers, brings their costs together.

Decode, random-resized crop (0.08 to 1.0 of the area), 224 x 224 bilinear antialiased, flip, normalise, float32 CHW;
CPU microseconds on one core. Each environment's process runs ours and the floor too, and a peer is put in ratio to
those of its own process.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.input import names, ours
from bench.input.environments import Environment, python_of, surroundings
from bench.input.sources import Unavailable
from bench.input.timing import Cost
from bench.input.workload import Workload

Answer = dict[str, Any]
"""What a worker prints: `costs` by corpus and contender, `versions`."""


@dataclass(frozen=True)
class Row:
    """A contender on a corpus: its cost, and how many times ours of the same process it takes."""

    environment: str
    cost: Cost
    times: float


@dataclass(frozen=True)
class Samples:
    """Rows by corpus and contender; versions; and which environments were skipped, with the reason."""

    rows: dict[str, dict[str, Row]]
    versions: dict[str, str]
    skipped: dict[str, str]

    def peers(self, corpus: str) -> dict[str, Row]:
        """Neither ours, nor the floor, nor the prototype."""
        return {name: row for name, row in self.rows[corpus].items() if not _is_own(name)}

    def fastest_peer(self, corpus: str) -> tuple[str, float] | None:
        """Its name, and how many times our time it takes; None when no peer ran."""
        peers = self.peers(corpus)
        name = min(peers, key=lambda name: peers[name].times, default=None)
        return (name, peers[name].times) if name else None

    def classic(self, corpus: str) -> float | None:
        """How many times our time the classic recipe takes; torchvision's own where it ran."""
        rows = self.rows[corpus]
        return next((rows[name].times for name in names.CLASSIC if name in rows), None)

    def of_floor(self, corpus: str) -> float:
        """Our time in units of the floor, both by the extension's own clock."""
        rows = self.rows[corpus]
        return rows[ours.WHOLE].cost.microseconds / rows[ours.FLOOR].cost.microseconds


def _is_own(name: str) -> bool:
    return name.startswith(("ours", "floor", "step", "the prototype"))


@dataclass(frozen=True)
class Plan:
    """How a benchmark is run: counted rounds, the core for everything (None: the last), the prototype's library."""

    native: Path
    rounds: int
    core: int | None
    prototype: Path | None


def measure(plan: Plan, environments: tuple[Environment, ...], works: dict[str, Workload]) -> Samples:
    """Run all environments, one after another: two at once would take each other's caches."""
    found = Samples({corpus: {} for corpus in works}, {}, {})
    with tempfile.TemporaryDirectory(prefix="bench-input-") as folder:
        given = []
        for corpus, work in works.items():
            work.save(Path(folder) / f"{corpus}.npz")
            given.append(f"{corpus}={folder}/{corpus}.npz")
        for environment in environments:
            try:
                answer = _run(plan, python_of(environment), environment.peers, given, everything=not found.versions)
            except Unavailable as error:
                found.skipped[environment.name] = f"{environment.name}: {error}"
                continue
            _add(found, environment.name, answer)
        if not found.versions:
            _add(found, "", _run(plan, Path(sys.executable), (), given, everything=True))
    return found


def _run(plan: Plan, python: Path, peers: tuple[str, ...], given: list[str], *, everything: bool) -> Answer:
    command = [str(python), "-m", "bench.input.worker", str(plan.native), ",".join(peers), str(plan.rounds), *given]
    if plan.core is not None:
        command.append(f"--core={plan.core}")
    if everything:
        command.append("--everything")
        if plan.prototype:
            command.append(f"--prototype={plan.prototype}")
    done = subprocess.run(command, env=surroundings(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable((done.stderr.strip().splitlines() or ["it failed"])[-1])
    answer: Answer = json.loads(done.stdout.splitlines()[-1])
    return answer


def _add(found: Samples, environment: str, answer: Answer) -> None:
    found.versions.update(answer["versions"])
    for corpus, costs in answer["costs"].items():
        base = costs[ours.OURS]["microseconds"]
        for name, values in costs.items():
            row = Row(environment, Cost(**values), values["microseconds"] / base)
            known = found.rows[corpus].get(name)
            if known is None or (row.times < known.times and not _is_own(name)):
                found.rows[corpus][name] = row
