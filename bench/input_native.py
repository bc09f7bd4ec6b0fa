"""One training sample: the native extension against Pillow's recipe and the Python reference, in one run.

    .venv/bin/python bench/input_native.py

Decode, random-resized crop (0.08 to 1.0 of the area), 224 x 224, flip, normalised float32 [3, 224, 224], on one
thread. Every contender runs once a round in rotation and the median of the rounds counts, in CPU seconds: what carries
over to another machine are the ratios. The pictures are made of noise of several sizes, 500 x 375, at the density of
light (about 1.4 bit a pixel), of ImageNet-like files (about 4.5), and 1500 x 1000; no photographs are needed.
"""

import argparse
import io
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from trainer.data import native, reference
from trainer.data.crops import CropConfig, random_boxes, random_flips

SIZE = 224
COUNT = 24
REFERENCE_COUNT = 4  # it is slow
NORMALISATION = native.Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
CORPORA = {"light": (500, 375, 85, 2.0), "dense": (500, 375, 95, 9.0), "large": (1500, 1000, 85, 2.0)}


def picture(seed: int, width: int, height: int, noise: float) -> Image.Image:
    """Octaves of noise: large shapes strong, small ones weak, about as photographs are."""
    rng = np.random.default_rng(seed)
    total = np.zeros((height, width, 3))
    for octave in range(2, 8):
        cells = rng.normal(0, 90 / octave**1.7, (2**octave, 2**octave, 3)).astype(np.float32)
        for channel in range(3):
            plane = Image.fromarray(cells[:, :, channel]).resize((width, height), Image.Resampling.BICUBIC)
            total[:, :, channel] += np.asarray(plane) * 0.4
        total += np.asarray(Image.fromarray(cells.mean(2)).resize((width, height), Image.Resampling.BICUBIC))[..., None]
    return Image.fromarray(np.clip(128 + total + rng.normal(0, noise, total.shape), 0, 255).astype(np.uint8))


def encoded(seed: int, corpus: str) -> bytes:
    """One JPEG of the corpus, 4:2:0."""
    width, height, quality, noise = CORPORA[corpus]
    buffer = io.BytesIO()
    picture(seed, width, height, noise).save(buffer, "JPEG", quality=quality, subsampling="4:2:0")
    return buffer.getvalue()


class Corpus:
    """Files in one shard-like blob, with the crops that every contender takes."""

    def __init__(self, name: str, folder: Path) -> None:
        width, height, *_ = CORPORA[name]
        self.files = [encoded(seed, name) for seed in range(COUNT)]
        self.bits_per_pixel = 8 * sum(map(len, self.files)) / (COUNT * width * height)
        path = folder / name
        path.write_bytes(b"".join(self.files))
        size = np.array([len(file) for file in self.files])
        self.places = native.Places(np.zeros(COUNT, np.int32), np.cumsum(size) - size, size)
        self.reader = native.open_reader([path])
        samples, epochs = np.arange(COUNT), np.zeros(COUNT, np.int64)
        widths, heights = np.full(COUNT, width, np.int32), np.full(COUNT, height, np.int32)
        self.boxes = random_boxes(CropConfig(), 1, epochs, samples, widths, heights)
        self.flips = random_flips(CropConfig(), 1, epochs, samples)
        self.cuts = native.Cuts(np.stack([widths, heights], 1), self.boxes, self.flips)


def native_batch(corpus: Corpus, pool: native.Pool, *, exact: bool, kind: type) -> np.ndarray:
    """The batch as the extension makes it."""
    out: np.ndarray = np.empty((COUNT, 3, SIZE, SIZE), kind)
    statuses = np.empty(COUNT, np.uint8)
    native.wait(
        native.submit(
            pool, corpus.reader, corpus.places, corpus.cuts, out, statuses, exact=exact, normalisation=NORMALISATION
        )
    )
    assert not statuses.any()
    return out


def pillow_batch(corpus: Corpus) -> np.ndarray:
    """Decode, crop, resize, flip, convert, normalise: the classic recipe, sample by sample."""
    mean, std = (np.array(values, np.float32)[:, None, None] for values in (NORMALISATION.mean, NORMALISATION.std))
    out: np.ndarray = np.empty((COUNT, 3, SIZE, SIZE), np.float32)
    for i, content in enumerate(corpus.files):
        image = Image.open(io.BytesIO(content)).convert("RGB").crop(tuple(corpus.boxes[i].astype(int)))
        image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        if corpus.flips[i]:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        out[i] = (np.asarray(image, dtype=np.float32).transpose(2, 0, 1) / 255 - mean) / std
    return out


def reference_batch(corpus: Corpus) -> np.ndarray:
    """The Python reference, sample by sample, of the first few files."""
    samples = [
        reference.reference_sample(content, tuple(corpus.boxes[i]), SIZE, flip=bool(corpus.flips[i]))
        for i, content in enumerate(corpus.files[:REFERENCE_COUNT])
    ]
    return np.stack([reference.normalised(sample, NORMALISATION) for sample in samples])


CONTENDERS: dict[str, Callable[[Corpus, native.Pool], np.ndarray]] = {
    "native, fast, uint8": lambda corpus, pool: native_batch(corpus, pool, exact=False, kind=np.uint8),
    "native, fast, float32": lambda corpus, pool: native_batch(corpus, pool, exact=False, kind=np.float32),
    "native, exact, float32": lambda corpus, pool: native_batch(corpus, pool, exact=True, kind=np.float32),
    "Pillow's recipe": lambda corpus, _: pillow_batch(corpus),
    "Python reference": lambda corpus, _: reference_batch(corpus),
}


def difference(found: np.ndarray, expected: np.ndarray) -> float | None:
    """Mean absolute difference of normalised samples, in grey levels of 255; None for bytes."""
    if found.dtype != np.float32:
        return None
    std = np.array(NORMALISATION.std)[:, None, None] * 255
    return round(float((np.abs(found[: len(expected)] - expected) * std).mean()), 4)


def measure(corpus: Corpus, pool: native.Pool, rounds: int) -> dict[str, dict[str, float | None]]:
    """Of each contender: CPU microseconds a sample, times the fast native path, mean difference to the reference."""
    results = {name: run(corpus, pool) for name, run in CONTENDERS.items()}
    cost: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for number in range(rounds):
        for name, run in CONTENDERS.items():
            if name == "Python reference" and number:
                continue
            before = time.process_time()
            count = len(run(corpus, pool))
            cost[name].append((time.process_time() - before) / count * 1e6)
    median = {name: statistics.median(times) for name, times in cost.items()}
    return {
        name: {
            "microseconds": round(median[name], 1),
            "times_fast": round(median[name] / median["native, fast, float32"], 2),
            "difference": difference(results[name], results["Python reference"]),
        }
        for name in CONTENDERS
    }


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    pool = native.open_pool(1)
    with tempfile.TemporaryDirectory() as folder:
        report = {}
        for name in CORPORA:
            corpus = Corpus(name, Path(folder))
            found = measure(corpus, pool, rounds)
            report[name] = {"bits_per_pixel": round(corpus.bits_per_pixel, 2), "contenders": found}
    pool.close()
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
