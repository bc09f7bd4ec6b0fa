"""A trial's parameters become fields; its metric becomes a line as cloudml-hypertune writes it."""

import json
from pathlib import Path

import pytest

from trainer import hypertune
from trainer.config import RunConfig, load_config
from trainer.errors import ConfigError
from trainer.hypertune import parameter_settings, report_metric


def test_a_line_holds_strings_and_the_trial(tmp_path: Path) -> None:
    path = tmp_path / "study" / "output.metrics"
    environment = {"CLOUD_ML_HP_METRIC_FILE": str(path), "CLOUD_ML_TRIAL_ID": "7"}
    report_metric(environment, "accuracy", 0.93, 10, 1700000000.5)
    assert json.loads(path.read_text()) == {
        "timestamp": 1700000000.5,
        "trial": "7",
        "accuracy": "0.93",
        "global_step": "10",
        "checkpoint_path": "",
    }


def test_the_last_hundred_lines_stay(tmp_path: Path) -> None:
    environment = {"CLOUD_ML_HP_METRIC_FILE": str(tmp_path / "output.metrics")}
    for step in range(103):
        report_metric(environment, "loss", 1.0, step, 0.0)
    steps = [json.loads(line)["global_step"] for line in (tmp_path / "output.metrics").read_text().splitlines()]
    assert steps == [str(step) for step in range(3, 103)]


def test_a_trial_without_a_file_writes_where_the_library_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hypertune, "DEFAULT_METRIC_FILE", str(tmp_path / "output.metrics"))
    report_metric({}, "accuracy", 0.5, 1, 0.0)
    assert not (tmp_path / "output.metrics").exists()
    report_metric({"CLOUD_ML_TRIAL_ID": "2"}, "accuracy", 0.5, 1, 0.0)
    assert json.loads((tmp_path / "output.metrics").read_text())["trial"] == "2"


@pytest.mark.parametrize(
    ("argument", "setting"),
    [
        ("--optimizer.learning_rate=0.1", "optimizer.learning_rate=0.1"),
        ("--learning_rate=1e-05", "optimizer.learning_rate=1e-05"),
        ("--learning-rate=0.1", "optimizer.learning_rate=0.1"),
        ("--lr=0.1", "optimizer.learning_rate=0.1"),
        ("--label_smoothing=0.2", "loss.label_smoothing=0.2"),
        ("--seed=3", "seed=3"),
        ("--batch_size=256.0", "batch_size=256"),
        ("--epochs=8", "epochs=8"),
        ("--optimizer.name=adamw", "optimizer.name=adamw"),
        ("--model.arguments.width=8", "model.arguments.width=8"),
    ],
)
def test_a_parameter_is_a_field_by_its_full_or_short_name(argument: str, setting: str) -> None:
    assert parameter_settings([argument]) == [setting]
    load_config(RunConfig(), None, parameter_settings([argument]))


def test_a_fraction_of_a_whole_number_is_refused_as_ever() -> None:
    with pytest.raises(ConfigError, match="give a whole number"):
        load_config(RunConfig(), None, parameter_settings(["--epochs=2.5"]))


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("--learning_rat=0.1", "--learning_rat: no field has this name; did you mean --learning_rate?"),
        ("--zzz=1", "use a field of trainer.config.RunConfig"),
        ("--lr", "--lr: this argument is not known"),
        ("0.1", "0.1: this argument is not known"),
        ("--=1", "this argument is not known"),
    ],
)
def test_an_unknown_parameter_is_one_sentence(argument: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parameter_settings([argument])
    assert words in caught.value.sentence
