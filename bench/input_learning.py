"""What training learns from different ways of making its pixels: the same run over and over, with paired seeds.

    .venv/bin/overnight demo                  # or any environment with a snapshot and its shards
    .venv/bin/python bench/input_learning.py --snapshot demo/data/snapshots/NAME --shards demo/data/shards \\
        --arm "own" --arm "libjpeg OVERNIGHT_DECODER=libjpeg" --seeds 8 --folder /tmp/learning

An arm is a name, then variables that its trainings get; PYTHON=path trains with another build. Each training is one
process of one thread, its batch in halves as the demo's two workers have it. Arms take turns seed by seed; what is in
--folder is not trained again. Printed: of each arm mean and standard error over the seeds of the test split's accuracy
and loss, and the paired differences to the first arm.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SPLIT_LOSS = """
import json, sys
from pathlib import Path
from trainer.evaluate import Pass, evaluate
model, snapshot, shards, output = map(Path, sys.argv[1:])
print(json.dumps(evaluate(model, snapshot, shards, "test", output, Pass(64, 1)).summary()))
"""


@dataclass(frozen=True)
class Arm:
    """One way of making pixels: a Python that has a trainer, and what its environment says."""

    name: str
    python: str
    environment: dict[str, str]


def arm_of(text: str) -> Arm:
    """`NAME [VARIABLE=VALUE]…`. Raises ArgumentTypeError for anything else."""
    name, *settings = text.split() or [""]
    if not name or "=" in name or not all("=" in setting for setting in settings):
        raise argparse.ArgumentTypeError(f"{text!r} is no arm: give a name, then VARIABLE=VALUE")
    environment = dict(setting.split("=", 1) for setting in settings)
    return Arm(name, environment.pop("PYTHON", sys.executable), environment)


def run(arm: Arm, arguments: list[str]) -> str:
    """What the arm's Python prints; ends this program where it fails."""
    environment = {**os.environ, **arm.environment, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([arm.python, *arguments], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"arm {arm.name}: {done.stderr.strip()}")
    return done.stdout


def learn(arm: Arm, seed: int, options: argparse.Namespace) -> dict[str, float]:
    """Accuracy and loss on the test split of one training."""
    folder = options.folder / arm.name / f"seed-{seed}"
    result = folder / "test.json"
    if not result.exists():
        data = ["--snapshot", str(options.snapshot), "--shards", str(options.shards)]
        settings = [f"seed={seed}", "micro_batch_size=32", "evaluation.every_epochs=1000", "checkpoint.every_seconds=0"]
        began = time.monotonic()
        run(
            arm,
            ["-m", "trainer", "--preset", options.preset, *data, "--output", str(folder)]
            + [word for setting in settings + options.set for word in ("--set", setting)],
        )
        files = [folder / "model", options.snapshot, options.shards, folder / "test.parquet"]
        found = json.loads(run(arm, ["-c", SPLIT_LOSS, *map(str, files)]))
        unfinished = result.with_suffix(".part")
        unfinished.write_text(json.dumps({**found, "seconds": time.monotonic() - began}))
        unfinished.rename(result)
    found = json.loads(result.read_text())
    print(f"seed {seed} {arm.name}: accuracy {found['accuracy']:.4f}, loss {found['loss']:.4f}", file=sys.stderr)
    return dict(found)


def spread(values: list[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def table(arms: list[Arm], results: dict[str, list[dict[str, float]]]) -> str:
    """One line an arm, in Markdown. Accuracies in per cent and points."""
    lines = ["| pixels | accuracy, % | against the first, points | loss | against the first |", "|---|---|---|---|---|"]
    for arm in arms:
        cells = [arm.name]
        for field, factor, digits in (("accuracy", 100, 2), ("loss", 1, 4)):
            values, first = ([factor * one[field] for one in results[name]] for name in (arm.name, arms[0].name))
            cells.append("{:.{n}f} ± {:.{n}f}".format(*spread(values), n=digits))
            differences = [a - b for a, b in zip(values, first, strict=True)]
            cells.append("{:+.{n}f} ± {:.{n}f}".format(*spread(differences), n=digits) if arm != arms[0] else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def parsed() -> Any:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--snapshot", type=Path, required=True)
    parser.add_argument("--shards", type=Path, required=True)
    parser.add_argument("--arm", type=arm_of, action="append", required=True, help="NAME [VARIABLE=VALUE]…")
    parser.add_argument("--seeds", type=int, default=8, help="2 or more")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--folder", type=Path, required=True, help="for the runs; go on with what is in it")
    parser.add_argument("--preset", default="demo")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.FIELD=VALUE")
    options = parser.parse_args()
    if options.seeds < 2 or len({arm.name for arm in options.arm}) < len(options.arm):
        parser.error("give 2 seeds or more, and each arm a name of its own")
    return options


def main() -> None:
    """Train, print."""
    options = parsed()
    results: dict[str, list[dict[str, float]]] = {arm.name: [] for arm in options.arm}
    for seed in range(options.first, options.first + options.seeds):
        for arm in options.arm:
            results[arm.name].append(learn(arm, seed, options))
    print(table(options.arm, results))


if __name__ == "__main__":
    main()
