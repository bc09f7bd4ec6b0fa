"""Everything, or the quick part of it: corpora, samples, fidelity, restart markers, loaders, and the bars.

    make bench-input-quick      # or: python -m bench.input.run --quick
    make bench-input            # or: python -m bench.input.run
    python -m bench.input.run --only sample --rounds 9 --prototype libproto.so

Tables go to standard output and to build/bench/report-NAME.md, the last line is a summary; exit 1 when a bar is missed.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from bench.input import bars, corpus, environments, fidelity, loader, report, restart, sample
from bench.input.corpus import Extent
from bench.input.environments import Environment
from bench.input.sources import Unavailable
from bench.input.timing import pinned
from bench.input.workload import Workload, from_folder
from trainer import _native

PARTS = ("sample", "fidelity", "restart", "loader")


@dataclass(frozen=True)
class Size:
    """How much is measured: pictures of each corpus, rounds; of loaders: pictures, rounds, peers' workers."""

    extent: Extent
    environments: tuple[Environment, ...]
    pictures: dict[str, int]
    rounds: int
    loaded: int
    loader_rounds: int
    workers: tuple[int, ...]


QUICK = Size(corpus.QUICK, environments.QUICK, {"s": 100, "h": 28, "i": 42, "l": 26}, 5, 640, 3, (1,))
FULL = Size(corpus.FULL, environments.FULL, {"s": 100, "h": 100, "i": 100, "l": 50}, 5, 2000, 5, (1, 2))


def main() -> int:
    """Measure, print, judge."""
    options = _options()
    size = QUICK if options.quick else FULL
    load = os.getloadavg()[0]
    if not hasattr(_native, "measure"):
        print("bench-input: the extension is older than the sources; run make setup", file=sys.stderr)
        return 2
    try:
        folder = corpus.build(size.extent)
    except Unavailable as error:
        print(f"bench-input: {error}", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    sections, measured = _measure(size, folder, options)
    verdicts = bars.judge(measured)
    heads = [f"{report.conditions(load)}", report.corpora(folder / "manifest.json")]
    text = "\n\n".join([*heads, *sections, report.bars(verdicts)])
    path = corpus.ROOT / f"report-{size.extent.name}.md"
    path.write_text(text + "\n")
    print(f"{text}\n\n{report.summary(verdicts)}")
    return 1 if any(verdict.missed for verdict in verdicts) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer pictures, the peers that install fast")
    parser.add_argument("--only", choices=PARTS, action="append", help="may be repeated; default: all")
    parser.add_argument("--rounds", type=int, help="counted rounds of samples")
    parser.add_argument("--core", type=int, help="where samples are measured; default: the last")
    parser.add_argument("--prototype", type=Path, help="a library with pf_batch, measured beside ours")
    return parser.parse_args()


Measured = dict[tuple[str, str], float]


def _measure(size: Size, folder: Path, options: argparse.Namespace) -> tuple[list[str], Measured]:
    only = options.only or PARTS
    rounds = options.rounds or size.rounds
    works = {name: from_folder(folder / name, count) for name, count in size.pictures.items()}
    sections: list[str] = []
    measured: Measured = {}
    if "sample" in only:
        plan = sample.Plan(Path(_native.__file__), rounds, options.core, options.prototype)
        _samples(sample.measure(plan, size.environments, works), sections, measured)
    if "fidelity" in only:
        _fidelity(works, sections, measured)
    if "restart" in only:
        with pinned(options.core):
            found = restart.compare(_native, works["i"], rounds)
        sections.append(report.restart(found))
        measured[bars.RESTART_GAIN, "i"], measured[bars.RESTART_BYTES, "i"] = found.gain, found.more_bytes
    if "loader" in only:
        _loaders(size, folder, sections, measured)
    return sections, measured


def _samples(found: sample.Samples, sections: list[str], measured: Measured) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in sorted(found.versions.items()))
    sections += [report.samples(found), report.spread(found), report.parts(found), f"Versions: {versions}."]
    sections += [f"Not measured: {reason}" for reason in found.skipped.values()]
    for name in found.rows:
        measured[bars.FLOOR, name] = found.of_floor(name)
        if (peer := found.fastest_peer(name)) is not None:
            sections.append(f"The fastest peer on `{name}` is {peer[0]}: {peer[1]:.2f}x.")
            measured[bars.PEER, name] = peer[1]
        if (classic := found.classic(name)) is not None:
            measured[bars.CLASSIC, name] = classic


def _fidelity(works: dict[str, Workload], sections: list[str], measured: Measured) -> None:
    found = fidelity.compare(_native, works)
    sections.append(report.fidelity(found))
    measured[bars.EXACT, ""] = max(found.exact.values())
    for name, value in found.fast.items():
        measured[bars.FAST, name] = value


def _loaders(size: Size, folder: Path, sections: list[str], measured: Measured) -> None:
    data = loader.shards(folder / "s", size.loaded, corpus.ROOT / f"shards-{size.extent.name}")
    found = loader.measure(data, size.environments, size.loader_rounds, size.workers)
    sections.append(report.loaders(found))
    sections += [f"Not measured: {name}: {reason}" for name, reason in found.skipped.items()]
    measured[bars.SECOND_THREAD, ""] = found.second_thread()
    measured[bars.MEMORY, ""] = found.found[loader.OURS, 2].mb
    if (peer := found.times_fastest()) is not None:
        sections.append(f"The fastest other loader is {peer[0]}: {peer[1]:.2f}x.")
        measured[bars.LOADER, ""] = peer[1]


if __name__ == "__main__":
    sys.exit(main())
