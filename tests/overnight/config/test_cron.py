"""Cron schedules: what they match, when in UTC their window has passed, and the sentence for each mistake."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.config.cron import Cron, WindowEnd


@pytest.mark.parametrize(
    ("fields", "name", "values"),
    [
        ("*/15 * * * *", "minutes", (0, 15, 30, 45)),
        ("50/5 * * * *", "minutes", (50, 55)),
        ("0 1-3,22 * * *", "hours", (1, 2, 3, 22)),
        ("0 0 1-31/10 * *", "days", (1, 11, 21, 31)),
        ("0 0 1 JAN,jul *", "months", (1, 7)),
        ("0 0 * * MON-FRI", "weekdays", (1, 2, 3, 4, 5)),
        ("0 0 * * 7", "weekdays", (0,)),
        ("0 0 * * 5-7", "weekdays", (0, 5, 6)),
        ("0 0 * * */2", "weekdays", (0, 2, 4, 6)),
        ("0 0 * * 1/2", "weekdays", (1, 3, 5)),
        ("0 0 * * *", "weekdays", (0, 1, 2, 3, 4, 5, 6)),
    ],
)
def test_a_field_matches(fields: str, name: str, values: tuple[int, ...]) -> None:
    assert getattr(Cron.parse(f"CRON_TZ=Europe/Paris {fields}"), name) == values


def test_a_schedule_keeps_its_zone_and_its_text() -> None:
    cron = Cron.parse("TZ=America/New_York 30 21 * * FRI")
    assert (cron.time_zone, cron.schedule) == ("America/New_York", "30 21 * * FRI")
    assert cron.text == "TZ=America/New_York 30 21 * * FRI"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 20 * * 5", r"the time zone is missing; write it such as CRON_TZ=Europe/Paris 0 20 \* \* 5"),
        ("", "the time zone is missing"),
        ("CRON_TZ=Paris 0 20 * * 5", "'Paris' is not an IANA time zone; write one such as CRON_TZ=Europe/Paris"),
        ("CRON_TZ=Europe/Paris 0 2 * *", r"five fields \(minute hour day month weekday\), this has 4; write it"),
        ("CRON_TZ=Europe/Paris 0 0 20 * * 5", "this has 6"),
        ("CRON_TZ=Europe/Paris 60 20 * * 5", "the minute '60' is not one; give 0 to 59"),
        ("CRON_TZ=Europe/Paris 0 24 * * 5", "the hour '24' is not one; give 0 to 23"),
        ("CRON_TZ=Europe/Paris 0 20 0 * *", "the day of the month '0' is not one; give 1 to 31"),
        ("CRON_TZ=Europe/Paris 0 20 1 13 *", "the month '13' is not one; give 1 to 12 or JAN to DEC"),
        ("CRON_TZ=Europe/Paris 0 20 * * FRY", "the weekday 'FRY' is not one; give 0 to 7 or SUN to SAT"),
        ("CRON_TZ=Europe/Paris 0 20 * * 8", "the weekday '8' is not one"),
        ("CRON_TZ=Europe/Paris 0 5-2 * * 1", "the hour range '5-2' runs backwards"),
        ("CRON_TZ=Europe/Paris */0 5 * * 1", r"the minute '\*/0' has no step that fits; give 1 to 59"),
        ("CRON_TZ=Europe/Paris 0, 5 * * 1", "the minute '' is not one"),
        ("CRON_TZ=Europe/Paris @weekly", "this has 1"),
        ("CRON_TZ=Europe/Paris ² 5 * * 1", "the minute '²' is not one"),
    ],
)
def test_a_mistake_names_the_field_and_the_remedy(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Cron.parse(text)


@pytest.mark.parametrize(
    ("fields", "weekly", "monthly"),
    [
        ("0 20 * * 5", True, False),
        ("0 20 1 * *", False, True),
        ("0 20 29 * *", False, False),
        ("0 20 * * *", False, False),
        ("*/5 20 * * 5", False, False),
        ("0 20 * * 1,5", False, False),
        ("0 20 1 * 5", False, False),
        ("0 20 * 3 5", False, False),
        ("0 20 1 1,7 *", False, False),
    ],
)
def test_how_often_a_schedule_starts(fields: str, weekly: bool, monthly: bool) -> None:
    cron = Cron.parse(f"CRON_TZ=Europe/Paris {fields}")
    assert (cron.once_a_week, cron.once_a_month) == (weekly, monthly)


@pytest.mark.parametrize(
    ("text", "window", "end"),
    [
        # Friday 20:00 in Paris is 19:00 UTC in winter, 18:00 in summer: at the latest Saturday 07:00 UTC.
        ("CRON_TZ=Europe/Paris 0 20 * * 5", 12, WindowEnd(hour_utc=7, weekday_utc=6, lookback_hours=13)),
        ("CRON_TZ=UTC 0 20 * * 6", 12, WindowEnd(hour_utc=8, weekday_utc=0, lookback_hours=12)),
        # Saturday 22:30 in New York is Sunday 03:30 UTC in winter.
        ("CRON_TZ=America/New_York 30 22 * * 6", 12, WindowEnd(hour_utc=16, weekday_utc=0, lookback_hours=14)),
        # Monday 01:00 in Tokyo is Sunday 16:00 UTC.
        ("CRON_TZ=Asia/Tokyo 0 1 * * 1", 1, WindowEnd(hour_utc=17, weekday_utc=0, lookback_hours=1)),
        # Half an hour off: 20:00 in Kolkata is 14:30 UTC; 02:30 is told at 03:00.
        ("CRON_TZ=Asia/Kolkata 0 20 * * 5", 12, WindowEnd(hour_utc=3, weekday_utc=6, lookback_hours=13)),
        ("CRON_TZ=Europe/Paris 0 20 1 * *", 12, WindowEnd(hour_utc=7, day_utc=2, lookback_hours=13)),
        ("CRON_TZ=UTC 0 1 28 * *", 22, WindowEnd(hour_utc=23, day_utc=28, lookback_hours=22)),
    ],
)
def test_the_hour_in_utc_at_which_a_run_must_have_ended(text: str, window: int, end: WindowEnd) -> None:
    assert Cron.parse(text).window_ends(window) == end


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("CRON_TZ=UTC 0 1 28 * *", "not every month has that day; start on a day that leaves room"),
        ("CRON_TZ=UTC 0 1 * * *", "neither once a week nor once a month"),
    ],
)
def test_a_window_without_one_end_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Cron.parse(text).window_ends(23)


def test_a_monthly_window_that_ends_before_the_first_in_utc_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves room"):
        Cron.parse("CRON_TZ=Asia/Tokyo 0 1 1 * *").window_ends(2)


@settings(deadline=None)
@given(minute=st.integers(0, 59), hour=st.integers(0, 23), weekday=st.integers(0, 6), window=st.integers(1, 23))
def test_in_utc_a_window_ends_within_the_hour_after_it_has_passed(
    minute: int, hour: int, weekday: int, window: int
) -> None:
    end = Cron.parse(f"CRON_TZ=UTC {minute} {hour} * * {weekday}").window_ends(window)
    assert end.weekday_utc is not None
    passed = (weekday * 24 + hour + window) * 60 + minute
    assert 0 <= ((end.weekday_utc * 24 + end.hour_utc) * 60 - passed) % (7 * 24 * 60) < 60
    assert window <= end.lookback_hours <= window + 1
