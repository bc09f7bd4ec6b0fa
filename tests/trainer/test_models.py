"""Networks of our own, and anyone else's by an import path."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from trainer.errors import ConfigError
from trainer.models import build_model, head_name, resnet9, resnet18, resnet34, resnet50, start_from


@pytest.mark.parametrize(
    ("factory", "parameters"), [(resnet18, 11_689_512), (resnet34, 21_797_672), (resnet50, 25_557_032)]
)
def test_the_networks_have_the_papers_size(factory: object, parameters: int) -> None:
    assert callable(factory)
    with torch.device("meta"):
        model = factory(1000)
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


@pytest.mark.parametrize("stem_shrink", [1, 2, 4])
def test_any_stem_gives_logits(stem_shrink: int) -> None:
    model = resnet18(5, width=4, stem_shrink=stem_shrink, dropout=0.5)
    assert model(torch.zeros(2, 3, 33, 41)).shape == (2, 5)


@pytest.mark.parametrize("side", [16, 48, 65])
def test_the_short_network_takes_small_pictures(side: int) -> None:
    model = resnet9(5, width=4, dropout=0.5)
    assert model(torch.zeros(2, 3, side, side)).shape == (2, 5)
    assert head_name(model) == "head"


def test_every_block_begins_as_the_identity() -> None:
    model = resnet50(3, width=4).eval()
    block = model.stages[1][1]
    x = torch.rand(1, 32, 5, 5)
    assert torch.equal(block(x), x)


@pytest.mark.parametrize(
    ("function", "arguments", "problem"),
    [
        ("no.such:thing", {}, "cannot be imported"),
        ("trainer.models:resnet19", {}, "has no 'resnet19'"),
        ("trainer.models:__all__", {}, "is not a function"),
        ("trainer.models:resnet18", {"widht": 3}, "does not take these arguments"),
        ("trainer.models:resnet18", {"stem_shrink": 3}, "give 1, 2 or 4"),
        ("trainer.models:resnet9", {"width": 0}, "give at least 1"),
        ("builtins:abs", {}, "returned int"),
    ],
)
def test_a_model_that_cannot_be_built_is_one_sentence(
    function: str, arguments: dict[str, object], problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        build_model(function, arguments, 3)
    assert "\n" not in caught.value.sentence


def test_the_head_is_the_last_linear_layer_unless_named() -> None:
    assert head_name(resnet18(3, width=4)) == "head"
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    assert head_name(model) == "2"
    assert head_name(model, "0") == "0"
    with pytest.raises(ConfigError, match=r"model\.head"):
        head_name(model, "nine")
    with pytest.raises(ConfigError, match="no linear layer"):
        head_name(nn.Sequential(nn.ReLU()))


def test_weights_are_taken_over_but_for_the_head(tmp_path: Path) -> None:
    source, model = resnet18(5, width=4), resnet18(3, width=4)
    save_file(source.state_dict(), tmp_path / "a.safetensors")
    head = model.head.weight.clone()
    start_from(model, str(tmp_path / "a.safetensors"), "head", ("a", "b", "c"))
    assert torch.equal(model.stem[0].weight, source.stem[0].weight)
    assert torch.equal(model.head.weight, head)


def test_weights_of_another_architecture_are_one_sentence(tmp_path: Path) -> None:
    save_file(resnet18(3, width=8).state_dict(), tmp_path / "a.safetensors")
    with pytest.raises(ConfigError, match=r"'stem\.0\.weight' is 8x3x7x7 there and 4x3x7x7 in this model"):
        start_from(resnet18(3, width=4), str(tmp_path / "a.safetensors"), "head", ())
    with pytest.raises(ConfigError, match="has no weight"):
        start_from(resnet34(3, width=8), str(tmp_path / "a.safetensors"), "head", ())


def test_a_file_that_holds_no_weights_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"nothing")
    with pytest.raises(ConfigError, match="not a safetensors file"):
        start_from(resnet18(3, width=4), str(tmp_path / "a.safetensors"), "head", ())
    with pytest.raises(ConfigError, match="no weights to start from"):
        start_from(resnet18(3, width=4), str(tmp_path / "none.safetensors"), "head", ())
