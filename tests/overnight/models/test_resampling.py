import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.models import resampling


def naive(groups, classes, correct, class_count, drawn_groups):
    """Support and correct counts of a list of drawn groups, counted row by row."""
    support = np.zeros(class_count)
    right = np.zeros((len(correct), class_count))
    for group in drawn_groups:
        for row in np.flatnonzero(groups == group):
            support[classes[row]] += 1
            right[:, classes[row]] += correct[:, row]
    return support, right


rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=40)


@given(rows)
def test_kinds_of_groups_count_the_same_as_the_groups_themselves(data):
    _, groups = resampling.codes([f"g{row[0]}" for row in data])
    _, classes = resampling.codes([f"c{row[1]}" for row in data])
    correct = np.array([[row[2] for row in data], [row[3] for row in data]])
    class_count = int(classes.max()) + 1

    counted = resampling.tally(groups, classes, correct, class_count)
    draws = resampling.draw(counted, samples=3, seed=1)

    support, right = naive(groups, classes, correct, class_count, range(int(groups.max()) + 1))
    assert int(counted.multiplicity.sum()) == int(groups.max()) + 1
    np.testing.assert_array_equal(draws.support[0], support)
    np.testing.assert_array_equal(draws.correct[:, 0], right)


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(data, random):
    def drawn(rows):
        _, groups = resampling.codes([f"g{row[0]}" for row in rows])
        _, classes = resampling.codes([f"c{row[1]}" for row in rows])
        correct = np.array([[row[2] for row in rows], [row[3] for row in rows]])
        draws = resampling.draw(resampling.tally(groups, classes, correct, int(classes.max()) + 1), 20, 3)
        return draws.support, draws.correct

    shuffled = list(data)
    random.shuffle(shuffled)
    for one, other in zip(drawn(data), drawn(shuffled), strict=True):
        np.testing.assert_array_equal(one, other)


def accuracy_interval(right, groups, samples=2000, seed=0, confidence=0.95):
    counted = resampling.tally(
        np.asarray(groups, np.int64), np.zeros(len(right), np.int64), np.asarray(right, bool)[np.newaxis], 1
    )
    return resampling.interval(resampling.draw(counted, samples, seed).accuracy(0), confidence)


def test_independent_images_give_the_binomial_interval():
    right = np.arange(1000) < 800
    found = accuracy_interval(right, np.arange(1000))
    half = 1.96 * np.sqrt(0.8 * 0.2 / 1000)
    assert found.value == 0.8
    assert found.lower == pytest.approx(0.8 - half, abs=0.004)
    assert found.upper == pytest.approx(0.8 + half, abs=0.004)


def test_images_that_stand_and_fall_together_give_a_wider_interval():
    right = np.repeat(np.arange(100) < 80, 10)
    alone = accuracy_interval(right, np.arange(1000))
    together = accuracy_interval(right, np.repeat(np.arange(100), 10))
    assert together.value == alone.value
    assert together.upper - together.lower > 2.5 * (alone.upper - alone.lower)


def test_the_same_seed_draws_the_same_and_another_does_not():
    right = np.arange(300) % 4 != 0
    assert accuracy_interval(right, np.arange(300), seed=3) == accuracy_interval(right, np.arange(300), seed=3)
    assert accuracy_interval(right, np.arange(300), seed=3) != accuracy_interval(right, np.arange(300), seed=4)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 500))
def test_the_block_size_does_not_change_the_draws(block):
    right = np.arange(60) % 3 != 0
    usual = accuracy_interval(right, np.arange(60), samples=200)
    before, resampling.BLOCK = resampling.BLOCK, block
    try:
        assert accuracy_interval(right, np.arange(60), samples=200) == usual
    finally:
        resampling.BLOCK = before


def test_a_class_that_many_draws_miss_still_has_an_interval():
    classes = np.array([0] * 50 + [1])
    counted = resampling.tally(np.arange(51), classes, np.ones((1, 51), bool), 2)
    recall = resampling.draw(counted, 500, 0).recall(0)[:, 1]
    assert np.isnan(recall).any()
    assert resampling.interval(recall, 0.95) == resampling.Interval(1.0, 1.0, 1.0)


def test_two_million_images_are_drawn_in_seconds():
    rng = np.random.default_rng(0)
    count = 2_000_000
    classes = rng.integers(0, 1000, count)
    correct = rng.random((2, count)) < 0.8
    counted = resampling.tally(np.arange(count), classes, correct, 1000)
    assert len(counted.rows) == 4000  # 1,000 classes, four ways for two models to be right or wrong
    found = resampling.interval(resampling.draw(counted, 200, 0).accuracy(0), 0.95)
    assert found.upper - found.lower < 0.002
