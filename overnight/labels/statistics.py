"""The few statistics that the checks need, in closed form."""

import math
from collections.abc import Sequence


def jensen_shannon(left: Sequence[int], right: Sequence[int]) -> float:
    """Jensen-Shannon divergence (base 2, 0 to 1) of two distributions given as counts in the same order.

    0 when either is empty: nothing can be said then.
    """
    left_total, right_total = sum(left), sum(right)
    if left_total == 0 or right_total == 0:
        return 0.0
    divergence = 0.0
    for left_count, right_count in zip(left, right, strict=True):
        p, q = left_count / left_total, right_count / right_total
        middle = (p + q) / 2
        divergence += sum(share * math.log2(share / middle) for share in (p, q) if share > 0) / 2
    return min(max(divergence, 0.0), 1.0)


def chi_square_p_value(statistic: float) -> float:
    """P(X >= statistic) for chi-square with one degree of freedom, which is the square of a standard normal."""
    return math.erfc(math.sqrt(statistic / 2))


def net_change_p_value(lost: int, gained: int) -> float:
    """McNemar's chi-square test that losses and gains are equally likely; 1.0 without any.

    Only rows that came or went say something: the rest are the same images as before, not a new sample.
    """
    if lost + gained == 0:
        return 1.0
    return chi_square_p_value((lost - gained) ** 2 / (lost + gained))


def above_share_p_value(count: int, total: int, share: float) -> float:
    """Chi-square score test that `count` of `total` came from a rate of `share`; 1.0 unless the rate found is higher.

    Small when the true rate is surely above `share`.
    """
    if total == 0 or count <= total * share:
        return 1.0
    if share <= 0.0:
        return 0.0
    expected = total * share
    return chi_square_p_value((count - expected) ** 2 / (expected * (1.0 - share)))
