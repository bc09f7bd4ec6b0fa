"""Every mistake in a configuration is one sentence that names the field and what to do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.config import RunConfig, config_digest, load_config, result_fields
from trainer.errors import ConfigError
from trainer.fields import build, flat, overlay, plain
from trainer.presets import PRESETS, preset


@pytest.mark.parametrize(
    ("setting", "field", "remedy"),
    [
        ("optimizer.learning_rat=0.1", "optimizer.learning_rat", "did you mean 'learning_rate'?"),
        ("optimiser.name=sgd", "optimiser", "did you mean 'optimizer'?"),
        ("epochs=0", "epochs", "give 1 or more"),
        ("epochs=two", "epochs", "give a whole number"),
        ("epochs=1.5", "epochs", "give a whole number"),
        ("epochs=true", "epochs", "give a whole number"),
        ("batch_size=-4", "batch_size", "give 1 or more"),
        ("micro_batch_size=3", "micro_batch_size", "give a divisor of batch_size"),
        ("optimizer.name=adam", "optimizer.name", "give one of 'sgd', 'adamw'"),
        ("optimizer.learning_rate=0", "optimizer.learning_rate", "give a number above 0"),
        ("loss.label_smoothing=1", "loss.label_smoothing", "give 0 up to 1"),
        ("ema.decay=1.0", "ema.decay", "give 0 (off) up to 1"),
        ("size.evaluation_shorter_side=8", "size.evaluation_shorter_side", "give at least size.evaluation"),
        ("size.ramp_start=0.9", "size.ramp_start", "give 0 <= ramp_start <= ramp_end <= 1"),
        ("data.std=[0, 1, 1]", "data.std", "give numbers above 0"),
        ("data.std=[1, 1]", "data.std", "give a list of 3 values"),
        ("data.depth=1", "data.depth", "give 2 or more"),
        ("model=resnet18", "model", "give a section of fields"),
        ("model.function=resnet18", "model.function", "write module:function"),
        ("model.frozen_epochs=2", "model.frozen_epochs", "leave at least one"),
        ("compute.precision=fp8", "compute.precision", "give one of"),
        ("checkpoint.keep=0", "checkpoint.keep", "keep at least 1"),
        ("evaluation.hyperparameter_metric=f1", "evaluation.hyperparameter_metric", "give one of"),
        ("augment.strength=2", "augment.strength", ""),
        ("data.bad_samples.action=ignore", "data.bad_samples.action", "give one of"),
        ("epochs", "--set", "write section.field=value"),
        ("=3", "--set", "write section.field=value"),
    ],
)
def test_a_wrong_setting_is_one_sentence(setting: str, field: str, remedy: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(preset("smoke"), None, [setting])
    assert caught.value.sentence.startswith(f"{field}: ")
    assert remedy in caught.value.sentence
    assert "\n" not in caught.value.sentence


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_survives_its_own_record(name: str) -> None:
    config = preset(name)
    assert build(RunConfig, plain(config)) == config


def test_an_unknown_preset_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'night-16'"):
        preset("night16")


def test_a_file_lies_over_the_preset_and_settings_over_both(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('epochs = 3\n[optimizer]\nname = "sgd"\nlearning_rate = 1\n')
    config = load_config(preset("smoke"), file, ["optimizer.learning_rate=0.5", "model.pretrained=gs://bucket/model"])
    assert (config.epochs, config.optimizer.name, config.optimizer.learning_rate) == (3, "sgd", 0.5)
    assert config.model.pretrained == "gs://bucket/model"
    assert config.size == preset("smoke").size


@pytest.mark.parametrize(("name", "text"), [("a.toml", "epochs ="), ("a.json", "{"), ("a.json", "[1]")])
def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path, name: str, text: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(ConfigError, match=str(file)):
        load_config(RunConfig(), file, [])


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such configuration file"):
        load_config(RunConfig(), tmp_path / "none.toml", [])


@pytest.mark.parametrize(
    "setting",
    [
        "data.threads=7",
        "data.depth=9",
        "checkpoint.every_steps=5",
        "evaluation.batch_size=3",
        "compute.torch_threads=2",
    ],
)
def test_fields_that_decide_no_result_are_not_in_the_digest(setting: str) -> None:
    base = preset("smoke")
    assert config_digest(load_config(base, None, [setting])) == config_digest(base)


@pytest.mark.parametrize("setting", ["seed=1", "epochs=3", "model.arguments={width=9}", "data.sampling=balanced"])
def test_fields_that_decide_results_are_in_the_digest(setting: str) -> None:
    base = preset("smoke")
    assert config_digest(load_config(base, None, [setting])) != config_digest(base)


def test_every_field_is_flat_once() -> None:
    names = flat(plain(RunConfig()))
    assert set(result_fields(RunConfig())) < set(names)
    assert "optimizer.learning_rate" in names


@given(st.dictionaries(st.sampled_from("abc"), st.integers()), st.dictionaries(st.sampled_from("abc"), st.integers()))
def test_an_overlay_has_all_names_and_the_later_values(base: dict[str, int], changes: dict[str, int]) -> None:
    merged = overlay({"section": base}, {"section": changes})["section"]
    assert merged == base | changes


def test_the_global_batch_must_split_evenly() -> None:
    config = load_config(preset("smoke"), None, ["batch_size=16", "micro_batch_size=8"])
    config.check_workers(2, "cpu")
    with pytest.raises(ConfigError, match="give a multiple of 32"):
        config.check_workers(4, "cpu")
