"""One environment's part of the sample benchmark: ours beside its peers, in rotation; one line of JSON.

build/bench/venv-NAME/bin/python -m bench.input.worker NATIVE.so PEER,PEER ROUNDS CORPUS=WORKLOAD.npz ...
"""

import argparse
import importlib
import json
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import numpy as np

from bench.input import ours, prototype
from bench.input.timing import Run, pinned, rotate
from bench.input.workload import Workload, load


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("native", type=Path)
    parser.add_argument("peers", help="modules of bench.input.peers, with commas between; may be empty")
    parser.add_argument("rounds", type=int)
    parser.add_argument("workloads", nargs="+", help="CORPUS=FILE")
    parser.add_argument("--core", type=int)
    parser.add_argument("--everything", action="store_true", help="our variants, the floor and the steps too")
    parser.add_argument("--prototype", type=Path)
    options = parser.parse_args()
    with pinned(options.core):
        print(json.dumps(_measured(options)))


def _measured(options: argparse.Namespace) -> dict[str, object]:
    native = ours.extension(options.native)
    peers = [importlib.import_module(f"bench.input.peers.{name}") for name in options.peers.split(",") if name]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for given in options.workloads:
        corpus, path = given.split("=", 1)
        work = load(Path(path))
        runs = _runs(native, peers, options, work)
        found[corpus] = {name: asdict(cost) for name, cost in rotate(runs, len(work), options.rounds).items()}
    versions = {name: version for peer in peers for name, version in peer.VERSIONS.items()}
    return {"costs": found, "versions": {"numpy": np.__version__, **versions}}


def _runs(native: ModuleType, peers: list[ModuleType], options: argparse.Namespace, work: Workload) -> dict[str, Run]:
    runs: dict[str, Run] = dict(ours.contenders(native, work))
    if not options.everything:
        runs = {name: run for name, run in runs.items() if name == ours.OURS}
    if options.prototype:
        runs["the prototype"] = prototype.contender(options.prototype, work)
    for peer in peers:
        runs.update(peer.contenders(work))
    return runs


if __name__ == "__main__":
    main()
