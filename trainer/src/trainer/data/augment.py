"""Changes of colour and erased patches after the crop: parameters as a pure function of (seed, epoch, sample)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trainer.data.crops import CropConfig
from trainer.data.randomness import Purpose, uniform
from trainer.errors import ConfigError

if TYPE_CHECKING:
    import torch

_COLOUR_RANGE = 0.4  # at strength 1: factors from 0.6 to 1.4, the range ImageNet recipes use
_ERASE_CHANCE = 0.25
_ERASE_AREA = (0.02, 0.2)
_ERASE_ASPECT = (0.3, 3.3)
_GREY = (0.299, 0.587, 0.114)  # ITU-R BT.601 luma


@dataclass(frozen=True, kw_only=True)
class AugmentConfig:
    """How much training samples are changed. `strength` 0 leaves colours alone and erases nothing, 1 is the most."""

    strength: float = 0.5
    scale_min: float = 0.25
    """Least share of the picture's area that a crop keeps."""
    flip: bool = True
    colour: bool = True
    erasing: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise ConfigError(f"{self.strength} is outside 0 to 1", where="augment.strength")
        if not 0 < self.scale_min <= 1:
            raise ConfigError(f"{self.scale_min} is not above 0 and at most 1", where="augment.scale_min")

    def crop(self) -> CropConfig:
        """The loader's part of it."""
        return CropConfig(scale_min=self.scale_min, flip=self.flip)


@dataclass(frozen=True)
class AugmentParameters:
    """Of n samples: factors float32[n, 3] (brightness, contrast, saturation; 1 = unchanged) and the erased patches
    float32[n, 4] (left, top, right, bottom as shares of the side; all 0 = none)."""

    factors: NDArray[np.float32]
    patches: NDArray[np.float32]


def augment_parameters(
    config: AugmentConfig, seed: int, epochs: NDArray[np.int64], samples: NDArray[np.int64]
) -> AugmentParameters:
    """The changes of each sample; a function of (seed, epoch, sample), whatever the batch around it."""
    epochs, samples = np.asarray(epochs)[:, None], np.asarray(samples)[:, None]
    u = uniform(seed, Purpose.AUGMENT, epochs, samples, np.arange(8, dtype=np.int64)[None, :])
    spread = _COLOUR_RANGE * config.strength if config.colour else 0.0
    factors = 1 + spread * (2 * u[:, 0:3] - 1)
    chance = _ERASE_CHANCE * config.strength if config.erasing else 0.0
    return AugmentParameters(factors.astype(np.float32), _patches(u[:, 3:8], chance).astype(np.float32))


def _patches(u: NDArray[np.float64], chance: float) -> NDArray[np.float64]:
    area = _ERASE_AREA[0] + (_ERASE_AREA[1] - _ERASE_AREA[0]) * u[:, 1]
    aspect = np.exp(np.log(_ERASE_ASPECT[0]) + np.log(_ERASE_ASPECT[1] / _ERASE_ASPECT[0]) * u[:, 2])
    width, height = np.minimum(np.sqrt(area * aspect), 1), np.minimum(np.sqrt(area / aspect), 1)
    left, top = u[:, 3] * (1 - width), u[:, 4] * (1 - height)
    patches = np.stack([left, top, left + width, top + height], axis=1)
    return np.where((u[:, 0] < chance)[:, None], patches, 0.0)


def augment_batch(images: "torch.Tensor", parameters: AugmentParameters) -> "torch.Tensor":
    """Apply `parameters` to images [n, 3, s, s], uint8 or float in 0 to 255; returns float32 in 0 to 255.

    On the images' device, without random numbers of its own: equal inputs give equal outputs. Erased patches become
    mid grey, which normalisation turns into about 0.
    """
    import torch  # the loader itself must work without it

    x = images.to(torch.float32)
    if (parameters.factors != 1).any():
        x = _recolour(x, _on(parameters.factors, x))
    if parameters.patches.any():
        x = torch.where(_patch_mask(_on(parameters.patches, x), x.shape[-1]), 127.5, x)
    return x


def _recolour(x: "torch.Tensor", factors: "torch.Tensor") -> "torch.Tensor":
    brightness, contrast, saturation = (factors[:, i, None, None, None] for i in range(3))
    x = (x * brightness).clamp(0, 255)
    mean = _mean(_luma(x))
    x = (mean + (x - mean) * contrast).clamp(0, 255)
    grey = _luma(x)
    return (grey + (x - grey) * saturation).clamp(0, 255)


def _luma(x: "torch.Tensor") -> "torch.Tensor":
    """[n, 1, s, s], element by element: a reduction's rounding may depend on the batch around a sample."""
    red, green, blue = _GREY
    return x[:, 0:1] * red + x[:, 1:2] * green + x[:, 2:3] * blue


def _mean(luma: "torch.Tensor") -> "torch.Tensor":
    """[n, 1, 1, 1], summed as integers of 1/256: exact, whatever the order of the sum."""
    units = (luma * 256).round().long().sum((1, 2, 3), keepdim=True)
    return units.to(luma.dtype) / (256 * luma.shape[2] * luma.shape[3])


def _on(values: NDArray[Any], like: "torch.Tensor") -> "torch.Tensor":
    import torch

    tensor: torch.Tensor = torch.from_numpy(values)
    return tensor.to(like.device)


def _patch_mask(patches: "torch.Tensor", side: int) -> "torch.Tensor":
    """bool[n, 1, side, side]: inside the patch, judged at pixel centres."""
    import torch

    centres = (torch.arange(side, device=patches.device) + 0.5) / side
    left, top, right, bottom = (patches[:, i, None] for i in range(4))
    across = (centres >= left) & (centres < right)
    down = (centres >= top) & (centres < bottom)
    return (down[:, :, None] & across[:, None, :])[:, None]
