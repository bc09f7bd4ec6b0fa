"""Augmentation: parameters by (seed, epoch, sample); applying them gives equal results whatever the batch around."""

import numpy as np
import pytest
import torch

from jpeg_files import picture
from trainer.data.augment import AugmentConfig, AugmentParameters, augment_batch, augment_parameters
from trainer.errors import ConfigError

STRONG = AugmentConfig(strength=1, erasing=True)


def batch(count: int, side: int = 32) -> torch.Tensor:
    return torch.from_numpy(np.stack([picture(i, side, side).transpose(2, 0, 1) for i in range(count)]))


def parameters(config: AugmentConfig, count: int, epoch: int = 0) -> AugmentParameters:
    return augment_parameters(config, 5, np.full(count, epoch), np.arange(count))


def test_strength_0_changes_nothing() -> None:
    images = batch(8)
    assert torch.equal(augment_batch(images, parameters(AugmentConfig(strength=0, erasing=True), 8)), images.float())


def test_results_do_not_depend_on_the_batch_around_a_sample() -> None:
    images, chosen = batch(16), parameters(STRONG, 16)
    together = augment_batch(images, chosen)
    for i in range(16):
        alone = augment_batch(
            images[i : i + 1], AugmentParameters(chosen.factors[i : i + 1], chosen.patches[i : i + 1])
        )
        assert torch.equal(alone[0], together[i])
    assert torch.equal(augment_batch(images, chosen), together)


def test_values_stay_between_0_and_255() -> None:
    out = augment_batch(batch(32), parameters(STRONG, 32))
    assert out.min() >= 0
    assert out.max() <= 255
    assert out.dtype == torch.float32


def test_brightness_contrast_and_saturation_do_what_they_say() -> None:
    image = torch.tensor([100.0, 60.0, 20.0]).view(1, 3, 1, 1).expand(1, 3, 8, 8)
    none = np.zeros((1, 4), np.float32)
    brighter = augment_batch(image, AugmentParameters(np.array([[1.5, 1, 1]], np.float32), none))
    torch.testing.assert_close(brighter, image * 1.5)
    grey = augment_batch(image, AugmentParameters(np.array([[1, 1, 0]], np.float32), none))
    torch.testing.assert_close(grey, torch.full_like(image, 0.299 * 100 + 0.587 * 60 + 0.114 * 20), atol=1e-3, rtol=0)
    flat = augment_batch(batch(1), AugmentParameters(np.array([[1, 0, 1]], np.float32), none))
    assert flat.std() < 1e-3


def test_an_erased_patch_is_mid_grey_and_the_rest_untouched() -> None:
    images = batch(1, 40)
    out = augment_batch(
        images, AugmentParameters(np.ones((1, 3), np.float32), np.array([[0.25, 0.5, 0.75, 0.75]], np.float32))
    )
    assert (out[0, :, 20:30, 10:30] == 127.5).all()
    out[0, :, 20:30, 10:30] = images[0, :, 20:30, 10:30].float()
    assert torch.equal(out, images.float())


def test_parameters_are_spread_as_the_strength_says() -> None:
    strong, weak = parameters(STRONG, 10_000), parameters(AugmentConfig(strength=0.5, erasing=True), 10_000)
    assert 0.6 <= strong.factors.min() < 0.61
    assert 1.39 < strong.factors.max() <= 1.4
    assert 0.8 <= weak.factors.min() < 0.81
    erased = strong.patches.any(axis=1)
    assert abs(erased.mean() - 0.25) < 0.02
    assert abs(weak.patches.any(axis=1).mean() - 0.125) < 0.02
    sides = strong.patches[erased][:, 2:] - strong.patches[erased][:, :2]
    assert sides.prod(axis=1).min() > 0.019
    assert sides.prod(axis=1).max() < 0.201


def test_every_epoch_has_parameters_of_its_own() -> None:
    assert not np.isclose(parameters(STRONG, 100, 0).factors, parameters(STRONG, 100, 1).factors).all(axis=1).any()


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="strength"):
        AugmentConfig(strength=1.5)
    with pytest.raises(ConfigError, match="scale_min"):
        AugmentConfig(scale_min=0)
