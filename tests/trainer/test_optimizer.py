"""Weights of classes and parameters, and the moving average."""

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trainer import ema
from trainer.models import resnet18
from trainer.optimizer import OptimizerConfig, build_optimizer, class_weights, summed_loss
from trainer.step import BufferMean, mixed_seed


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=8), st.floats(-1, 1), st.booleans())
def test_the_mean_weight_of_the_samples_drawn_is_one(counts: list[int], power: float, balanced: bool) -> None:
    weights = class_weights(torch.tensor(counts), power, balanced)
    if weights is None:
        assert power == 0
        return
    drawn = torch.ones(len(counts)) if balanced else torch.tensor(counts).float()
    assert float((weights * drawn).sum() / drawn.sum()) == pytest.approx(1, rel=1e-4)


def test_power_minus_one_makes_every_class_count_alike() -> None:
    weights = class_weights(torch.tensor([90, 9, 1, 0]), -1.0, balanced=False)
    assert weights is not None
    assert (weights * torch.tensor([90, 9, 1, 0])).tolist() == pytest.approx([100 / 3] * 3 + [0], rel=1e-5)


def test_power_one_gives_balanced_sampling_its_frequencies_back() -> None:
    weights = class_weights(torch.tensor([90, 9, 1]), 1.0, balanced=True)
    assert weights is not None
    assert (weights / weights.sum()).tolist() == pytest.approx([0.9, 0.09, 0.01], rel=1e-5)


def test_a_summed_loss_does_not_depend_on_the_split() -> None:
    torch.manual_seed(0)
    logits, truth, weights = torch.randn(8, 3), torch.arange(8) % 3, torch.tensor([1.0, 2.0, 0.5])
    whole = summed_loss(logits, truth, 0.1, weights)
    parts = sum(summed_loss(logits[i : i + 2], truth[i : i + 2], 0.1, weights) for i in range(0, 8, 2))
    torch.testing.assert_close(whole, parts)


@pytest.mark.parametrize("name", ["sgd", "adamw"])
def test_biases_and_norms_are_not_decayed(name: str) -> None:
    model = resnet18(3, width=4)
    optimizer = build_optimizer(model, OptimizerConfig(name=name, weight_decay=0.1))  # type: ignore[arg-type]
    decayed = {id(p) for group in optimizer.param_groups if group["weight_decay"] > 0 for p in group["params"]}
    for parameter in model.parameters():
        assert (id(parameter) in decayed) == (parameter.dim() > 1)


def test_the_average_follows_weights_and_running_statistics() -> None:
    model = resnet18(3, width=4)
    average = ema.averaged_copy(model)
    before = copy.deepcopy(average.state_dict())
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.add_(1)
    ema.update(average, model, decay=0.75, step=1000)
    for name, tensor in average.state_dict().items():
        step = 0.25 if tensor.is_floating_point() else 1
        torch.testing.assert_close(tensor, before[name] + step)


def test_early_on_the_average_forgets_faster() -> None:
    model = torch.nn.Linear(1, 1)
    average = ema.averaged_copy(model)
    with torch.no_grad():
        model.weight.fill_(1.0)
        average.weight.fill_(0.0)
    ema.update(average, model, decay=0.9999, step=0)
    assert float(average.weight) == pytest.approx(0.9)  # it keeps (1 + 0) / (10 + 0)


def test_running_statistics_are_the_mean_over_micro_batches() -> None:
    torch.manual_seed(0)
    batches = [torch.randn(4, 2) for _ in range(3)]
    norm = torch.nn.BatchNorm1d(2)
    buffers = BufferMean(norm)
    buffers.begin()
    for batch in batches:
        norm(batch)
        buffers.collect()
    buffers.end(torch.cat(buffers.message()), world_size=1)
    means = torch.stack([batch.mean(0) for batch in batches]).mean(0)
    torch.testing.assert_close(norm.running_mean, 0.1 * means)
    assert int(norm.num_batches_tracked) == 1


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=4))
def test_seeds_fit_and_differ_by_place(numbers: list[int]) -> None:
    seed = mixed_seed(*numbers)
    assert 0 <= seed < 2**63
    assert seed != mixed_seed(*numbers, 0)
