"""The learning experiment: arms are read as written, and its table says means, errors and paired differences."""

import argparse
import sys
from pathlib import Path

import pytest

from bench.input_learning import Arm, arm_of, learn, table


def test_an_arm_is_a_name_and_what_its_trainings_get() -> None:
    assert arm_of("own") == Arm("own", sys.executable, {})
    assert arm_of("old PYTHON=/old/python OVERNIGHT_DECODER=libjpeg") == Arm(
        "old", "/old/python", {"OVERNIGHT_DECODER": "libjpeg"}
    )


@pytest.mark.parametrize("text", ["", "OVERNIGHT_DECODER=libjpeg", "own libjpeg"])
def test_what_is_no_arm_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is no arm"):
        arm_of(text)


def test_differences_are_paired_by_seed() -> None:
    """Seeds that differ much hide nothing when both arms share them."""
    first = [{"accuracy": accuracy, "loss": 1.0} for accuracy in (0.5, 0.7, 0.9)]
    second = [{"accuracy": accuracy + 0.01, "loss": 0.75} for accuracy in (0.5, 0.7, 0.9)]
    lines = table([arm_of("a"), arm_of("b")], {"a": first, "b": second}).splitlines()
    assert lines[2] == "| a | 70.00 ± 11.55 |  | 1.0000 ± 0.0000 |  |"
    assert lines[3] == "| b | 71.00 ± 11.55 | +1.00 ± 0.00 | 0.7500 ± 0.0000 | -0.2500 ± 0.0000 |"


def test_a_training_that_fails_ends_it_with_the_arms_name(tmp_path: Path) -> None:
    options = argparse.Namespace(folder=tmp_path, snapshot=tmp_path, shards=tmp_path, preset="no such", set=[])
    with pytest.raises(SystemExit, match="arm own: trainer: --preset: there is no preset 'no such'"):
        learn(arm_of("own"), 1, options)
    assert not list(tmp_path.rglob("test.json"))


def test_what_was_trained_is_not_trained_again(tmp_path: Path) -> None:
    done = tmp_path / "own" / "seed-3"
    done.mkdir(parents=True)
    (done / "test.json").write_text('{"accuracy": 0.5, "loss": 1.5}')
    options = argparse.Namespace(folder=tmp_path, preset="no such")
    assert learn(arm_of("own"), 3, options) == {"accuracy": 0.5, "loss": 1.5}
