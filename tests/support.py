"""What end-to-end tests share: a small set of drawn pictures, and the command as a process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

PATTERNS = ("across", "down", "plain")


def draw(pattern: str, seed: int, size: int = 80) -> Image.Image:
    """Stripes across, stripes down or none, in random colours: easy for convolutions, hopeless for a linear model."""
    generator = np.random.default_rng(seed)
    dark, light = generator.integers(0, 110, 3), generator.integers(140, 256, 3)
    wave = np.sin(np.arange(size) * generator.uniform(0.5, 0.9) + generator.uniform(0, 2 * np.pi)) > 0
    stripes = np.repeat(wave[:, None], size, axis=1)
    mask = {"across": stripes, "down": stripes.T, "plain": np.full((size, size), bool(wave[0]))}[pattern]
    pixels = np.where(mask[:, :, None], light, dark) + generator.integers(-25, 26, (size, size, 3))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def draw_folder(folder: Path, count: int, first: int = 0) -> None:
    """Write `count` JPEGs of each pattern into class folders."""
    for position, pattern in enumerate(PATTERNS):
        (folder / pattern).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + count):
            draw(pattern, seed=number * 10 + position).save(folder / pattern / f"{number:04d}.jpg", quality=92)


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
