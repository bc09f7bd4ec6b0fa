"""Metrics against values that can be worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.metrics import calibration, calibration_error, final_table, measure, softmax


def test_a_confusion_has_the_truth_in_rows() -> None:
    logits = np.log(np.array([[0.9, 0.05, 0.05], [0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]))
    metrics = measure(logits, np.array([0, 1, 1, 1]))
    assert metrics.confusion == [[1, 0, 0], [1, 2, 0], [0, 0, 0]]
    assert metrics.recall == [1.0, pytest.approx(2 / 3), None]
    assert metrics.precision == [0.5, 1.0, None]
    assert metrics.accuracy == 0.75
    assert metrics.balanced_accuracy == pytest.approx((1 + 2 / 3) / 2)
    assert metrics.loss == pytest.approx(-(math.log(0.9) + math.log(0.7) + math.log(0.3) + math.log(0.8)) / 4)


def test_calibration_error_is_the_weighted_gap() -> None:
    confidence = np.array([0.95, 0.95, 0.55, 0.55])
    bins = calibration(confidence, np.array([True, True, True, False]), bins=10)
    assert [row["count"] for row in bins] == [0, 0, 0, 0, 0, 2, 0, 0, 0, 2]
    assert calibration_error(bins) == pytest.approx(0.5 * 0.05 + 0.5 * 0.05)


def test_full_confidence_stays_in_the_last_bin() -> None:
    assert calibration(np.array([1.0]), np.array([True]))[-1]["count"] == 1


@given(st.integers(1, 30), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_counts_and_shares_agree(samples: int, classes: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, truth = random.normal(0, 3, (samples, classes)), random.integers(0, classes, samples)
    metrics = measure(logits, truth)
    assert sum(map(sum, metrics.confusion)) == samples == sum(row["count"] for row in metrics.calibration)
    assert 0 <= metrics.expected_calibration_error <= 1
    assert 0 <= metrics.accuracy <= 1
    table = final_table(metrics, tuple(f"c{number}" for number in range(classes)), "test")
    assert [row["support"] for row in table["per_class"]] == np.bincount(truth, minlength=classes).tolist()


def test_huge_logits_do_not_overflow() -> None:
    assert softmax(np.array([[1e4, -1e4]])).tolist() == [[1.0, 0.0]]
