"""How long `python -m infra` takes on the example configuration, and what the lazy imports are worth.

Side by side in one run, interleaved, each a whole process: as it ships; with the bindings imported as their packages
do it by themselves (OVERNIGHT_CDK_EAGER=1); and CDK Terrain. The first round warms disk and jsii's cache and is not
counted.

    .venv/bin/python bench/infra_synth.py [--rounds 5]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
VARIANTS = {
    "as shipped": {},
    "stock import": {"OVERNIGHT_CDK_EAGER": "1"},
    "CDK Terrain": {"OVERNIGHT_CDK": "cdktn"},
    "CDK Terrain, stock import": {"OVERNIGHT_CDK": "cdktn", "OVERNIGHT_CDK_EAGER": "1"},
}


def seconds(variant: dict[str, str], output: Path) -> float:
    """Wall time of one synthesis of all stacks, in seconds."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "infra", "--config", "config/example.yaml", "--output", str(output)],
        cwd=ROOT,
        env={**os.environ, **variant},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds + 1):
            for name, variant in VARIANTS.items():
                taken = seconds(variant, Path(folder) / name)
                if turn:
                    times[name].append(taken)
    base = statistics.median(times["as shipped"])
    print(f"{'python -m infra':28} {'median':>8} {'fastest':>8} {'slowest':>8} {'ratio':>6}")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"{name:28} {middle:7.2f}s {min(taken):7.2f}s {max(taken):7.2f}s {middle / base:5.1f}x")


if __name__ == "__main__":
    main()
