"""What follows a start that came to nothing: every case by name, and what holds for all histories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.jobs.fallback import Budgets, GiveUp, Outcome, Start, next_step

BUDGETS = Budgets(capacity=3, code=1)


def outcomes(*kinds: str) -> list[Outcome]:
    """A history in which every step was the one that was advised."""
    found: list[Outcome] = []
    for kind in kinds:
        step = next_step(found, 3, BUDGETS)
        assert isinstance(step, Start)
        found.append(Outcome(step.fallback, step.retry, kind))
    return found


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ((), Start(0, 0)),
        (("stockout",), Start(1, 0)),
        (("stockout", "stockout"), Start(2, 0)),
        (("internal",), Start(0, 1)),
        (("internal", "internal"), Start(0, 2)),
        (("stockout", "internal"), Start(1, 1)),
        (("internal", "stockout"), Start(1, 0)),
        (("code",), Start(0, 1)),
        (("stockout", "code"), Start(1, 1)),
        (("internal", "internal", "internal", "code"), Start(0, 4)),
    ],
)
def test_machines_are_looked_for_elsewhere_and_lost_ones_replaced(history, expected):
    assert next_step(outcomes(*history), 3, BUDGETS) == expected


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        (("stockout", "stockout", "stockout"), "no fallback is left"),
        (("internal", "internal", "internal", "internal"), "the budget for lost machines is 3"),
        (("code", "code"), "the budget for failing code is 1"),
        (("configuration",), "configured wrongly"),
        (("stockout", "configuration"), "configured wrongly"),
        (("quota",), "quota"),
        (("passing",), "submit again with the same --run-id"),
    ],
)
def test_and_then_it_ends(history, reason):
    step = next_step(outcomes(*history), 3, BUDGETS)
    assert isinstance(step, GiveUp)
    assert reason in step.reason


def test_a_job_without_fallbacks_says_that_it_has_none():
    step = next_step([Outcome(0, 0, "stockout")], 1, BUDGETS)
    assert step == GiveUp("there are no machines, and the spec has no overnight.fallbacks")


def test_nothing_is_started_after_the_deadline():
    history = [Outcome(0, 0, "stockout")]
    assert next_step(history, 3, BUDGETS, seconds_left=1) == Start(1, 0)
    assert next_step(history, 3, BUDGETS, seconds_left=0) == GiveUp("the deadline has passed")


KINDS = st.sampled_from(["stockout", "internal", "quota", "configuration", "code", "passing"])


@given(st.lists(KINDS, max_size=40), st.integers(1, 5), st.integers(0, 6), st.integers(0, 3))
def test_no_history_starts_more_than_its_budgets_allow(kinds, choices, capacity, code):
    budgets = Budgets(capacity, code)
    history: list[Outcome] = []
    for kind in kinds:
        step = next_step(history, choices, budgets)
        if isinstance(step, GiveUp):
            break
        assert 0 <= step.fallback < choices
        assert all((step.fallback, step.retry) != (item.fallback, item.retry) for item in history)
        assert not history or history[-1].kind not in ("quota", "configuration", "passing")
        history.append(Outcome(step.fallback, step.retry, kind))
    assert len(history) <= 1 + capacity + code
    # One budget never pays for the other.
    assert sum(item.kind in ("stockout", "internal") for item in history) <= capacity + 1
    assert sum(item.kind == "code" for item in history) <= code + 1
