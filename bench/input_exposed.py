"""How much of a training step is waiting for input: the same run with the reference loader and with the native one.

    .venv/bin/python bench/input_exposed.py

Drawn pictures of about 500 x 400 pixels, 128 pixel crops, a ResNet-9 whose width is chosen so that the reference
(Pillow, in the training process) waits about 40 % of its step time. Both runs are `python -m trainer`, both shares are
read from their profile.json: data_wait over all phases of a step. One line; exit code 1 when ours is above the bar, or
when the reference is not near 40 %, as the comparison says nothing then.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from synthetic import Synthetic, write_synthetic

STEP_PHASES = ("data_wait", "copy", "forward_backward", "all_reduce", "optimizer")
REFERENCE = 0.40
NEAR = 0.08
BAR = 0.05
WIDTHS = (4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40)
IMAGES = 480


def waiting(data: Synthetic, output: Path, loader: str, width: int, epochs: int) -> float:
    """The share of its step time that a run waits."""
    settings = [
        f"epochs={epochs}", "batch_size=32", "model.function=trainer.models:resnet9",
        f"model.arguments={{width={width}}}", "size.start=128", "size.end=128", "size.evaluation=128",
        "size.evaluation_shorter_side=144", f"evaluation.every_epochs={epochs}", "data.threads=1",
        f"data.loader={loader}", "checkpoint.every_seconds=0",
    ]  # fmt: skip
    command = [sys.executable, "-m", "trainer", "--preset", "smoke", "--snapshot", str(data.snapshot),
               "--shards", str(data.shards), "--output", str(output)]  # fmt: skip
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the run with the {loader} loader failed: {done.stderr.strip()}")
    phases = json.loads((output / "profile.json").read_text())["phases"]
    seconds = {name: phases[name]["seconds"] for name in STEP_PHASES}
    return float(seconds["data_wait"] / sum(seconds.values()))


def chosen_width(data: Synthetic, folder: Path) -> int:
    """The width with which the reference waits nearest to 40 %: waiting falls with it, so halve the range."""
    low, high = 0, len(WIDTHS) - 1
    while low < high:
        middle = (low + high) // 2
        if waiting(data, folder / f"width-{WIDTHS[middle]}", "reference", WIDTHS[middle], 1) > REFERENCE:
            low = middle + 1
        else:
            high = middle
    return WIDTHS[low]


def main() -> None:
    """Measure, print, exit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=0, help="of the network; 0 finds one")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        data = write_synthetic(root, images=IMAGES, sides=(380, 521))
        width = options.width or chosen_width(data, root)
        reference = waiting(data, root / "reference", "reference", width, options.epochs)
        native = waiting(data, root / "native", "native", width, options.epochs)
    meaningful, holds = abs(reference - REFERENCE) <= NEAR, native < BAR
    print(
        f"exposed input wait: reference loader {reference:.1%}, native loader {native:.1%} of step time "
        f"(bar {BAR:.0%}; ResNet-9 of width {width}, 128 pixels, 1 decoding thread)"
        + ("" if meaningful else f"; the reference is not near {REFERENCE:.0%}: try another --width")
    )
    sys.exit(0 if meaningful and holds else 1)


if __name__ == "__main__":
    main()
