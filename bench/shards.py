"""How many images a second `overnight shards build` examines and writes, with one and with two workers.

    python bench/shards.py [--images 4000] [--side 256] [--json]

Draws JPEGs (seeded: equal every time), imports them, and runs the command as a user would: start-up included. Checks
that both runs give the same digest.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = 8


def draw(folder: Path, count: int, side: int) -> None:
    """`count` smooth noisy pictures of `side` x `side` pixels in class folders."""
    generator = np.random.default_rng(0)
    grounds = [
        Image.fromarray(generator.integers(0, 256, (16, 16, 3), dtype=np.uint8)).resize(
            (side, side), Image.Resampling.BICUBIC
        )
        for _ in range(40)
    ]
    for number in range(count):
        target = folder / f"class-{number % CLASSES}" / f"{number:06d}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        grounds[number % len(grounds)].rotate(number % 360).save(target, quality=90)


def overnight(root: Path, *arguments: str) -> tuple[float, str]:
    """Run the command; returns its seconds and what it printed."""
    began = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-m", "overnight", *arguments, "--config", str(root / "env.yaml"), "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    return time.perf_counter() - began, result.stdout


def measure(images: int, side: int) -> dict[str, float | int | str]:
    """Seconds and images a second of an import, and of a build with one and two workers."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "env.yaml").write_text(f"environment: bench\nroot: {root / 'data'}\n", encoding="utf-8")
        draw(root / "pictures", images, side)
        found: dict[str, float | int | str] = {"images": images, "side": side}
        found["import_seconds"], _ = overnight(root, "import", str(root / "pictures"))
        digests = set()
        for workers in (1, 2):
            shutil.rmtree(root / "data" / "shards", ignore_errors=True)
            seconds, printed = overnight(root, "shards", "build", "--workers", str(workers))
            built = json.loads(printed)
            digests.add(built["sha256"])
            found |= {
                f"build_seconds_{workers}": seconds,
                f"images_per_second_{workers}": images / seconds,
                "megabytes": built["bytes"] / 1e6,
            }
        found["verify_seconds"], _ = overnight(root, "shards", "verify")
    if len(digests) != 1:
        raise SystemExit(f"one and two workers made different sets: {sorted(digests)}")
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = measure(chosen.images, chosen.side)
    if chosen.json:
        print(json.dumps(found, indent=2, sort_keys=True))
        return
    for name, value in found.items():
        print(f"{name:24} {value:,.1f}" if isinstance(value, float) else f"{name:24} {value:,}")


if __name__ == "__main__":
    main()
