"""When trials start, and when failures end a tuning job."""

import pytest

from overnight.vertex_local.tuning.rules import JobError, Limits, Tally, to_start, too_many_failed


def tally(active: int = 0, succeeded: int = 0, failed: int = 0, *, first_failed: bool = False) -> Tally:
    return Tally(active, succeeded, failed, first_failed)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (tally(), 4),
        (tally(active=3), 1),
        (tally(active=4), 0),
        (tally(active=1, succeeded=8, failed=2), 1),
        (tally(succeeded=12), 0),
    ],
)
def test_no_more_trials_than_may_run_and_are_left(now: Tally, expected: int) -> None:
    assert to_start(Limits(12, 4, 0), now) == expected


@pytest.mark.parametrize(
    ("max_failed", "now", "ends"),
    [
        (2, tally(failed=1, first_failed=True), False),
        (2, tally(failed=2, succeeded=9), True),
        (0, tally(failed=1, first_failed=True), True),
        (0, tally(failed=1), False),
        (0, tally(failed=5, succeeded=4), True),
        (0, tally(failed=5, succeeded=5), False),
    ],
)
def test_failures_end_a_job(max_failed: int, now: Tally, ends: bool) -> None:
    assert (too_many_failed(Limits(12, 4, max_failed), now) is not None) is ends


@pytest.mark.parametrize(
    ("limits", "field"),
    [
        (Limits(0, 1, 0), "max_trial_count"),
        (Limits(4, 0, 0), "parallel_trial_count"),
        (Limits(4, 5, 0), "parallel_trial_count"),
        (Limits(4, 2, 5), "max_failed_trial_count"),
        (Limits(4, 2, -1), "max_failed_trial_count"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(limits: Limits, field: str) -> None:
    with pytest.raises(JobError, match=field):
        limits.check()
