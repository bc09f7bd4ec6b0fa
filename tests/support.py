"""What end-to-end tests share: a small set of drawn pictures, and the command as a process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SHAPES = ("circle", "square", "triangle")


def draw(shape: str, seed: int, size: int = 80) -> Image.Image:
    """A filled shape of random colour, place and size on a noisy ground."""
    generator = np.random.default_rng(seed)
    image = Image.fromarray(generator.integers(0, 90, (size, size, 3), dtype=np.uint8))
    pen = ImageDraw.Draw(image)
    colour = tuple(int(value) for value in generator.integers(120, 255, 3))
    half = int(generator.integers(14, 26))
    x, y = (int(value) for value in generator.integers(half, size - half, 2))
    if shape == "circle":
        pen.ellipse((x - half, y - half, x + half, y + half), fill=colour)
    elif shape == "square":
        pen.rectangle((x - half, y - half, x + half, y + half), fill=colour)
    else:
        pen.polygon([(x, y - half), (x - half, y + half), (x + half, y + half)], fill=colour)
    return image


def draw_folder(folder: Path, count: int, first: int = 0) -> None:
    """Write `count` JPEGs of each shape into class folders."""
    for position, shape in enumerate(SHAPES):
        (folder / shape).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + count):
            draw(shape, seed=number * 10 + position).save(folder / shape / f"{number:04d}.jpg", quality=92)


def overnight(
    *arguments: str, cwd: Path, environment: dict[str, str], expect: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    """Run the command as a process; fail with its whole output when it ends with a code outside `expect`."""
    result = subprocess.run(
        [sys.executable, "-m", "overnight", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode in expect, f"{arguments}: exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result
