"""The closed forms against known values and plain rules."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.labels.statistics import (
    above_share_p_value,
    chi_square_p_value,
    jensen_shannon,
    net_change_p_value,
)

COUNTS = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=30)


# NIST/SEMATECH e-Handbook 1.3.6.7.4: upper critical values of chi-square with one degree of freedom.
@pytest.mark.parametrize(("statistic", "p"), [(2.706, 0.10), (3.841, 0.05), (6.635, 0.01), (10.828, 0.001)])
def test_chi_square_agrees_with_the_printed_table(statistic: float, p: float) -> None:
    assert chi_square_p_value(statistic) == pytest.approx(p, rel=2e-3)


@settings(deadline=None)
@given(COUNTS)
def test_divergence_is_symmetric_and_between_0_and_1(pairs: list[tuple[int, int]]) -> None:
    left, right = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert 0.0 <= jensen_shannon(left, right) <= 1.0
    assert jensen_shannon(left, right) == pytest.approx(jensen_shannon(right, left), abs=1e-12)


def test_divergence_is_0_for_equal_shares_and_1_for_disjoint_ones() -> None:
    assert jensen_shannon([10, 30], [1000, 3000]) == pytest.approx(0.0, abs=1e-12)
    assert jensen_shannon([5, 0], [0, 7]) == pytest.approx(1.0)


def test_divergence_of_a_known_pair() -> None:
    # Both halves by hand: KL([1/2,1/2] || [3/4,1/4]) and KL([1,0] || [3/4,1/4]), in bits.
    first = 0.5 * math.log2(2 / 3) + 0.5 * math.log2(2)
    second = math.log2(4 / 3)
    assert jensen_shannon([1, 1], [1, 0]) == pytest.approx((first + second) / 2)


def test_ten_images_lost_from_a_class_can_be_chance_and_eleven_cannot() -> None:
    assert net_change_p_value(10, 0) > 0.001
    assert net_change_p_value(11, 0) < 0.001


def test_losses_that_gains_make_up_for_say_nothing() -> None:
    assert net_change_p_value(500, 500) == 1.0
    assert net_change_p_value(0, 0) == 1.0


def test_a_share_is_above_its_limit_only_when_that_is_sure() -> None:
    assert above_share_p_value(6, 100, 0.05) > 0.001
    assert above_share_p_value(13, 100, 0.05) < 0.001
    assert above_share_p_value(50_800, 1_000_000, 0.05) < 0.001
    assert above_share_p_value(49_000, 1_000_000, 0.05) == 1.0


def test_a_limit_of_0_is_passed_by_a_single_one() -> None:
    assert above_share_p_value(1, 1_000_000, 0.0) == 0.0
    assert above_share_p_value(0, 1_000_000, 0.0) == 1.0
    assert above_share_p_value(0, 0, 0.05) == 1.0
