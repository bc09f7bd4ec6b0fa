import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from overnight.report import charts
from overnight.report.charts import Series, line_chart, round_axis


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_an_axis_covers_its_values_in_few_round_steps(lowest, span):
    axis = round_axis(lowest, lowest + span)
    steps = [b - a for a, b in itertools.pairwise(axis)]
    slack = 1e-6 * max(abs(lowest), span) + 1e-9
    assert axis[0] <= lowest + slack
    assert axis[-1] >= lowest + span - slack
    assert 2 <= len(axis) <= charts.MAX_TICKS + 2
    assert max(steps) - min(steps) <= 1e-6 * max(1.0, abs(axis[0]), abs(axis[-1]))


def test_one_value_still_has_an_axis():
    assert len(round_axis(0.5, 0.5)) >= 2
    assert len(round_axis(0.0, 0.0)) >= 2


@given(st.lists(st.floats(0, 1) | st.none() | st.just(math.nan), min_size=1, max_size=50))
def test_points_stay_inside_the_chart(values):
    chart = line_chart("Accuracy", list(range(1, len(values) + 1)), [Series("a", tuple(values))], shares=True)
    if chart is None:
        assert all(value is None or math.isnan(value) for value in values)
        return
    for mark in chart.lines[0].marks:
        assert chart.left <= mark.x <= chart.right
        assert chart.top <= mark.y <= chart.bottom


def test_many_epochs_are_a_line_with_one_dot_and_few_ticks():
    chart = line_chart("Loss", list(range(1, 301)), [Series("training", tuple(1 / n for n in range(1, 301)))])
    assert chart is not None
    assert len(chart.lines[0].marks) == 1
    assert chart.lines[0].path.count("L") == 299
    assert len(chart.x_ticks) <= charts.MAX_TICKS + 1


def test_no_values_are_no_chart():
    assert line_chart("Loss", [], [Series("training", ())]) is None
    assert line_chart("Loss", [1], [Series("training", (None,))]) is None
