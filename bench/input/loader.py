"""Whole loaders from tar shards: CPU time of all processes a picture, pictures a second, memory; batch 64.

Every loader runs in a fresh process each round, in rotation; one epoch warms it and the page cache.
"""

import io
import json
import statistics
import subprocess
import sys
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from bench.input.environments import Environment, python_of, surroundings
from bench.input.loaders import BATCH, Data
from bench.input.sources import Unavailable
from bench.input.timing import Cost, cost

OURS = "ours"
_PER_SHARD = 100
_PATIENCE = 300.0  # seconds


@dataclass
class Loaded:
    """A loader with so many workers: the rounds' CPU seconds a picture, pictures a second, the most memory (MB)."""

    name: str
    workers: int
    cpu: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    mb: float = 0.0

    @property
    def cost(self) -> Cost:
        """CPU time of a picture."""
        return cost(self.cpu, 1)

    @property
    def median_rate(self) -> float:
        """Pictures a second, by the clock."""
        return statistics.median(self.rate)


@dataclass(frozen=True)
class Loaders:
    """Results by (module, workers), and which were skipped, with the reason."""

    found: dict[tuple[str, int], Loaded]
    skipped: dict[str, str]

    def times_fastest(self) -> tuple[str, float] | None:
        """The fastest peer with one worker, and how many times our CPU time it takes."""
        base = self.found[OURS, 1].cost.microseconds
        peers = {key: row.cost.microseconds / base for key, row in self.found.items() if key[0] != OURS and key[1] == 1}
        best = min(peers, key=lambda key: peers[key], default=None)
        return (self.found[best].name, peers[best]) if best else None

    def second_thread(self) -> float:
        """Pictures a second on two threads, in units of one; best rounds, since others may use the machine."""
        return max(self.found[OURS, 2].rate) / max(self.found[OURS, 1].rate)


def shards(corpus: Path, pictures: int, folder: Path) -> Data:
    """Shards of `pictures` samples, the corpus again and again; made when they are not there."""
    data = Data(folder / "tars", pictures, folder / "formats")
    if data.shards.exists():
        return data
    files = [path.read_bytes() for path in sorted(corpus.glob("*.jpg"))]
    making = folder / ".making-tars"
    making.mkdir(parents=True, exist_ok=True)
    for start in range(0, pictures, _PER_SHARD):
        with tarfile.open(making / f"{start // _PER_SHARD:05d}.tar", "w", format=tarfile.USTAR_FORMAT) as tar:
            for number in range(start, min(start + _PER_SHARD, pictures)):
                for extension, content in (("jpg", files[number % len(files)]), ("cls", b"%d" % (number % 10))):
                    member = tarfile.TarInfo(f"{number:08d}.{extension}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    making.rename(data.shards)
    return data


def measure(data: Data, environments: tuple[Environment, ...], rounds: int, workers: tuple[int, ...]) -> Loaders:
    """Ours and every loader of the environments."""
    result = Loaders({}, {})
    contenders = [(OURS, Path(sys.executable))]
    for environment in environments:
        try:
            python = python_of(environment)
        except Unavailable as error:
            result.skipped.update(dict.fromkeys(environment.loaders, str(error)))
            continue
        contenders += [(name, python) for name in environment.loaders]
    for _ in range(rounds):
        for name, python in contenders:
            for count in (1, 2) if name == OURS else workers:
                if name not in result.skipped:
                    _once(result, data, name, python, count)
        if OURS in result.skipped:
            raise RuntimeError(f"our own loader failed: {result.skipped[OURS]}")
    return result


def _once(result: Loaders, data: Data, name: str, python: Path, workers: int) -> None:
    command = [str(python), "-m", "bench.input.loader_worker", name, str(workers)]
    command += [str(data.shards), str(data.pictures), str(data.formats)]
    try:
        done = subprocess.run(
            command, env=surroundings(), capture_output=True, text=True, check=True, timeout=_PATIENCE
        )
        answer = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        result.skipped[name] = (error.stderr.strip().splitlines() or ["it failed"])[-1]
        return
    except subprocess.TimeoutExpired:
        result.skipped[name] = f"no epoch in {_PATIENCE:.0f} s"
        return
    if answer["pictures"] < data.pictures - 2 * BATCH:
        result.skipped[name] = f"an epoch had {answer['pictures']} of {data.pictures} pictures"
        return
    row = result.found.setdefault((name, workers), Loaded(answer["name"], workers))
    row.cpu.append(answer["cpu"] / answer["pictures"])
    row.rate.append(answer["pictures"] / answer["wall"])
    row.mb = max(row.mb, answer["mb"])
