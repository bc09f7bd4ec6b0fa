from datetime import UTC, datetime

import pytest

from overnight.config import Environment
from overnight.models.promote import promote
from overnight.report.page import write_report

FIRST = "20260302-020000-aaaaaaaa"
SECOND = "20260309-020000-bbbbbbbb"


@pytest.fixture
def environment(root):
    return Environment(environment="test", root=str(root.path))


@pytest.fixture
def page(environment):
    """Write a run's report and return its text."""

    def write(run_id: str) -> str:
        return write_report(environment, run_id).read_text(encoding="utf-8")

    return write


@pytest.fixture
def two_weeks(root, environment):
    """Week 1's champion and week 2's better challenger, both judged; returns their run ids."""
    week_1 = root.snapshot()
    week_2 = root.snapshot("20260309", (125, 38, 80, 66), previous=week_1.name)
    first = root.evaluated_run(FIRST, week_1, accuracy=0.8)
    promote(environment, FIRST, None, datetime(2026, 3, 2, 3, tzinfo=UTC), lambda _: None)
    second = root.evaluated_run(SECOND, week_2, accuracy=0.93)
    root.evaluate(first, week_2, accuracy=0.8, cache=second)
    promote(environment, SECOND, None, datetime(2026, 3, 9, 3, tzinfo=UTC), lambda _: None)
    return FIRST, SECOND
