"""How far our samples are from doing everything in full: mean absolute difference, in grey levels of 255.

The reference decodes the whole picture (libjpeg's accurate transform, chroma interpolated), cuts the crop in float and
resizes it with an antialiased triangle. Of the small pictures hardly any is decoded at a smaller scale, of `l` many.
"""

import io
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from bench.input import ours
from bench.input.workload import MEAN, SIZE, STD, Cut, Workload


@dataclass(frozen=True)
class Fidelity:
    """Mean absolute differences by corpus, fast and exact. `scaled`: of all pictures that the fast mode decoded at a
    smaller scale, None where there was none. `worst`: of a single picture, fast mode."""

    fast: dict[str, float]
    exact: dict[str, float]
    scaled: float | None
    worst: float


def compare(native: ModuleType, works: dict[str, Workload]) -> Fidelity:
    """Over all pictures of all workloads."""
    fast, exact = {}, {}
    scaled = []
    for name, work in works.items():
        reference = np.stack([_reference(file, cut) for file, cut in zip(work.files, work.cuts, strict=True)])
        fast[name] = _differences(ours.part(native, work, "sample", np.float32)(), reference)
        exact[name] = _differences(ours.part(native, work, "exact", np.float32)(), reference)
        # The luma plane is made smaller in the DCT where half of it is still 1.25 times the target.
        small = np.array([min(cut.width, cut.height) >= 2 * 1.25 * SIZE for cut in work.cuts])
        scaled.append(fast[name][small])
    all_scaled = np.concatenate(scaled)
    return Fidelity(
        fast={name: float(values.mean()) for name, values in fast.items()},
        exact={name: float(values.mean()) for name, values in exact.items()},
        scaled=float(all_scaled.mean()) if len(all_scaled) else None,
        worst=max(float(values.max()) for values in fast.values()),
    )


def _differences(samples: NDArray[np.generic], reference: NDArray[np.float32]) -> NDArray[np.float64]:
    """Of each sample: normalised float32 against grey levels."""
    mean, std = (np.array(values, np.float32)[:, None, None] * 255 for values in (MEAN, STD))
    return np.asarray(np.abs(np.asarray(samples, np.float32) * std + mean - reference).mean((1, 2, 3)), np.float64)


def _reference(file: bytes, cut: Cut) -> NDArray[np.float32]:
    pixels = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
    crop = pixels[cut.top : cut.top + cut.height, cut.left : cut.left + cut.width]
    batch = torch.from_numpy(crop.astype(np.float32)).permute(2, 0, 1).unsqueeze(0)
    made = torch.nn.functional.interpolate(batch, size=(SIZE, SIZE), mode="bilinear", antialias=True)[0]
    return (made.flip(-1) if cut.flip else made).numpy()
