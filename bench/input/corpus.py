"""The corpora, made from photographs and a seed: s, h, i, l as described in CORPORA.

    python -m bench.input.corpus [--quick]

Random crops of the photographs, a quarter upright, half mirrored, resized with Lanczos. Equal Pillow and package
versions give equal bytes; manifest.json names both, and the SHA-256 of every corpus.
"""

import argparse
import hashlib
import io
import json
import os
import random
import shutil
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import PIL
from PIL import Image

from bench.input.sources import PACKAGES, Source, Unavailable, bring

SEED = 20240611
ROOT = Path(__file__).parents[2] / "build/bench"


@dataclass(frozen=True)
class Corpus:
    """JPEGs of about one size (pixels), 4:2:0; `noise` is a standard deviation in grey levels of 255.

    Corpora of one `series` show the same pictures.
    """

    name: str
    series: str
    width: int
    height: int
    qualities: tuple[int, int]
    noise: float = 0.0


CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus("s", "small", 500, 375, (75, 90)),
        Corpus("h", "small", 500, 375, (95, 95)),
        # ImageNet-1k has about 110 kB a picture, that is 4 to 5 bits a pixel; noise brings ours there.
        Corpus("i", "small", 500, 375, (95, 95), noise=8.0),
        Corpus("l", "large", 1500, 1000, (75, 90)),
    )
}


@dataclass(frozen=True)
class Extent:
    """How much is made: pictures of each corpus, from how many of the packages."""

    name: str
    counts: dict[str, int]
    packages: int


FULL = Extent("full", {"s": 400, "h": 100, "i": 150, "l": 60}, len(PACKAGES))
QUICK = Extent("quick", {"s": 128, "h": 28, "i": 42, "l": 26}, len(PACKAGES))


@lru_cache(maxsize=8)
def _photograph(path: Path) -> Image.Image:
    return Image.open(path).convert("RGB")


def picture(corpus: Corpus, number: int, photographs: list[Path]) -> bytes:
    """The JPEG of that number. A function of the arguments and SEED."""
    draw = random.Random(f"{SEED}-{corpus.series}-{number}")
    image = _photograph(photographs[number % len(photographs)])
    width, height = int(corpus.width * draw.uniform(0.9, 1.05)), int(corpus.height * draw.uniform(0.88, 1.05))
    if draw.random() < 0.25:
        width, height = height, width
    largest = min(image.width / width, image.height / height)
    share = max(draw.uniform(0.45, 1.0), min(1.0, 1 / largest))  # never enlarged where the photograph allows it
    crop_width, crop_height = int(width * largest * share), int(height * largest * share)
    left, top = draw.randint(0, image.width - crop_width), draw.randint(0, image.height - crop_height)
    mirrored, quality = draw.random() < 0.5, draw.randint(*corpus.qualities)
    box = (left, top, left + crop_width, top + crop_height)
    made = image.resize((width, height), Image.Resampling.LANCZOS, box=box, reducing_gap=3.0)
    if mirrored:
        made = made.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    if corpus.noise:
        noise = np.random.default_rng([SEED, number]).normal(0, corpus.noise, (height, width, 3))
        made = Image.fromarray(np.clip(np.asarray(made) + noise + 0.5, 0, 255).astype(np.uint8))
    buffer = io.BytesIO()
    made.save(buffer, "JPEG", quality=quality, subsampling="4:2:0")
    return buffer.getvalue()


def _write(corpus: Corpus, number: int, photographs: list[Path], folder: Path) -> str:
    content = picture(corpus, number, photographs)
    (folder / f"{number:05d}.jpg").write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def _suited(corpus: Corpus, sources: list[Source]) -> list[Path]:
    """The photographs that are large enough to be cut and made smaller."""
    paths = [path for source in sources for path in source.photographs]
    shorter = 0.9 * min(corpus.width, corpus.height)
    return [path for path in paths if min(Image.open(path).size) >= shorter]


def _make(corpus: Corpus, count: int, sources: list[Source], folder: Path, pool: ProcessPoolExecutor) -> dict[str, Any]:
    folder.mkdir(parents=True)
    photographs = _suited(corpus, sources)
    # Pictures of one photograph one after another: each process then reads it once.
    numbers = sorted(range(count), key=lambda number: (number % len(photographs), number))
    jobs = {number: pool.submit(_write, corpus, number, photographs, folder) for number in numbers}
    digests = [jobs[number].result() for number in range(count)]
    pixels, size = 0, 0
    for path in folder.glob("*.jpg"):
        width, height = Image.open(path).size
        pixels, size = pixels + width * height, size + path.stat().st_size
    return {
        **asdict(corpus),
        "pictures": count,
        "photographs": len(photographs),
        "mean_bytes": size // count,
        "bits_per_pixel": round(8 * size / pixels, 2),
        "sha256": hashlib.sha256("\n".join(digests).encode()).hexdigest(),
    }


def _recipe(extent: Extent) -> dict[str, Any]:
    return {"seed": SEED, "extent": asdict(extent), "pillow": PIL.__version__, "code": _own_digest()}


def _own_digest() -> str:
    code = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("corpus.py", "sources.py"))
    return hashlib.sha256(code).hexdigest()[:12]


def build(extent: Extent, root: Path = ROOT) -> Path:
    """The folder of the corpora, made unless an equal one is there. Raises Unavailable without any photograph."""
    folder = root / "corpus" / extent.name
    manifest = folder / "manifest.json"
    recipe = json.loads(json.dumps(_recipe(extent)))
    if manifest.is_file() and json.loads(manifest.read_text())["recipe"] == recipe:
        return folder
    sources, missing = [], []
    for package in PACKAGES[: extent.packages]:
        try:
            sources.append(bring(package, root / "sources"))
        except Unavailable as error:
            missing.append(str(error))
    if not sources:
        raise Unavailable(f"no photographs could be had: {'; '.join(missing)}")
    made = folder.with_name(f".making-{extent.name}")
    shutil.rmtree(made, ignore_errors=True)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        corpora = {
            name: _make(CORPORA[name], count, sources, made / name, pool) for name, count in extent.counts.items()
        }
    content = {
        "recipe": recipe,
        "sources": [{"name": source.name, "version": source.version} for source in sources],
        "missing": missing,
        "corpora": corpora,
    }
    (made / "manifest.json").write_text(json.dumps(content, indent=2) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)
    return folder


def main() -> None:
    """Build them and print what they are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer pictures of fewer photographs")
    folder = build(QUICK if parser.parse_args().quick else FULL)
    print(folder)
    for name, corpus in json.loads((folder / "manifest.json").read_text())["corpora"].items():
        print(
            f"{name}: {corpus['pictures']} of {corpus['photographs']} photographs, {corpus['mean_bytes']:,} bytes, ",
            end="",
        )
        print(f"{corpus['bits_per_pixel']} bit/px, sha256 {corpus['sha256'][:12]}")


if __name__ == "__main__":
    main()
