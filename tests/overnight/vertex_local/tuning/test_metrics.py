"""What trials measured, from the file that cloudml-hypertune writes."""

import json
from typing import Any

import pytest

from overnight.vertex_local.tuning.metrics import Measurement, final_measurement, read_measurements


def line(step: Any, time: float = 1.0, **metrics: Any) -> str:
    return json.dumps({"timestamp": time, "trial": "1", **metrics, "global_step": str(step), "checkpoint_path": ""})


def test_numbers_are_read_from_strings() -> None:
    assert read_measurements(line(10, 5.0, accuracy="0.93"), ["accuracy"]) == (
        Measurement(10, 5.0, {"accuracy": 0.93}),
    )


def test_steps_rise_and_metrics_of_one_step_belong_together() -> None:
    text = "\n".join([line(2, acc="0.8"), line(1, acc="0.5"), line(1, 3.0, loss="1.5"), line(2, acc="0.9")])
    assert read_measurements(text, ["acc", "loss"]) == (
        Measurement(1, 3.0, {"acc": 0.5, "loss": 1.5}),
        Measurement(2, 1.0, {"acc": 0.9}),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        line(1, acc="nan"),
        line(1, acc="inf"),
        line(1, acc="good"),
        line(1, other="1"),
        line("x", acc="1"),
        line(1, acc="0.5")[:-9],
        "[1]",
        "null",
    ],
)
def test_a_line_that_says_nothing_of_the_metric_does_not_count(text: str) -> None:
    assert read_measurements(text, ["acc"]) == ()


CURVE = tuple(Measurement(step, 0.0, {"acc": value}) for step, value in enumerate([0.1, 0.9, 0.4]))


@pytest.mark.parametrize(
    ("best", "maximize", "value"), [(False, True, 0.4), (False, False, 0.4), (True, True, 0.9), (True, False, 0.1)]
)
def test_the_last_or_the_best_measurement_is_final(best: bool, maximize: bool, value: float) -> None:
    final = final_measurement(CURVE, ["acc"], best=best, maximize=maximize)
    assert final is not None
    assert final.metrics == {"acc": value}


def test_a_final_measurement_holds_every_metric() -> None:
    both = (Measurement(1, 0.0, {"acc": 0.5, "loss": 1.0}), Measurement(2, 0.0, {"acc": 0.6}))
    assert final_measurement(both, ["acc", "loss"], best=False, maximize=True) == both[0]
    assert final_measurement(both[1:], ["acc", "loss"], best=False, maximize=True) is None
