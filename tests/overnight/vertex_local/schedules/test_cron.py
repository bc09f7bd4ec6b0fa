"""When cron expressions come round, daylight saving included."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.vertex_local.schedules.cron import Cron, CronError


def times(text: str, after: str, count: int = 3) -> list[str]:
    cron, moment, found = Cron.parse(text), datetime.fromisoformat(after).replace(tzinfo=UTC), []
    for _ in range(count):
        moment = cron.next_after(moment)
        found.append(moment.strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 20 * * 5", "2026-11-30", ["2026-12-04 20:00", "2026-12-11 20:00", "2026-12-18 20:00"]),
        ("TZ=America/New_York 0 3 * * MON", "2026-11-30 08:00", ["2026-12-07 08:00", "2026-12-14 08:00"]),
        ("CRON_TZ=Asia/Kolkata 30 0 1 * *", "2026-11-30", ["2026-11-30 19:00", "2026-12-31 19:00"]),
        ("*/20 8-9 * * *", "2026-11-30 08:30", ["2026-11-30 08:40", "2026-11-30 09:00", "2026-11-30 09:20"]),
        ("0 0 13 * FRI", "2026-11-12", ["2026-11-13 00:00", "2026-11-20 00:00", "2026-11-27 00:00"]),
        ("0 0 */2 * FRI", "2026-11-01", ["2026-11-13 00:00", "2026-11-27 00:00", "2026-12-11 00:00"]),
        ("0 0 29 2 *", "2026-11-30", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 29 2 *", "2096-03-01", ["2104-02-29 00:00"]),
        ("5/25 * * * *", "2026-11-30", ["2026-11-30 00:05", "2026-11-30 00:30", "2026-11-30 00:55"]),
        ("0 0 * * 7", "2026-11-30", ["2026-12-06 00:00"]),
        ("0 12 * DEC,JAN 1-5/2", "2026-11-30", ["2026-12-02 12:00", "2026-12-04 12:00", "2026-12-07 12:00"]),
    ],
)
def test_an_expression_comes_round(text: str, after: str, expected: list[str]) -> None:
    assert times(text, after, len(expected)) == expected


def test_the_local_hour_stays_when_daylight_saving_ends() -> None:
    assert times("TZ=Europe/Paris 0 20 * * 5", "2026-10-20", 2) == ["2026-10-23 18:00", "2026-10-30 19:00"]


def test_a_time_that_the_clock_skips_comes_after_the_jump() -> None:
    # 28 March 2027, 02:00 becomes 03:00 in Paris.
    assert times("TZ=Europe/Paris 30 2 * * *", "2027-03-27 12:00", 2) == ["2027-03-28 01:30", "2027-03-29 00:30"]


def test_a_time_that_comes_twice_counts_once() -> None:
    # 25 October 2026, 03:00 becomes 02:00 in Paris.
    assert times("TZ=Europe/Paris 30 2 * * *", "2026-10-24 12:00", 2) == ["2026-10-25 00:30", "2026-10-26 01:30"]


@pytest.mark.parametrize("day", ["2026-10-24 20:00", "2027-03-27 20:00"])
def test_every_hour_is_every_hour_on_the_days_of_the_change(day: str) -> None:
    found = [datetime.fromisoformat(text) for text in times("TZ=Europe/Paris 0 * * * *", day, 12)]
    assert {(later - earlier).total_seconds() for earlier, later in pairwise(found)} == {3600.0}


@given(st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)), st.sampled_from(["Europe/Paris", "America/New_York"]))
def test_the_next_time_is_later_and_nothing_lies_between(moment: datetime, zone: str) -> None:
    cron, moment = Cron.parse(f"TZ={zone} 15 */6 * * *"), moment.replace(tzinfo=UTC)
    found = cron.next_after(moment)
    assert moment < found
    middle = moment + (found - moment) / 2
    assert cron.next_after(middle) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "five fields"),
        ("0 0 * *", "five fields"),
        ("TZ=Europe/Atlantis 0 0 * * *", "not an IANA time zone"),
        ("TZ= 0 0 * * *", "not an IANA time zone"),
        ("TZ=../etc 0 0 * * *", "not an IANA time zone"),
        ("60 0 * * *", "'60' is not between 0 and 59"),
        ("0 0 0 * *", "'0' is not between 1 and 31"),
        ("0 0 * * FRY", "'FRY' is not between 0 and 7"),
        ("0 9-8 * * *", "runs backwards"),
        ("*/0 0 * * *", "step"),
        ("0 0 30 2 *", "never comes round"),
        ("@weekly", "five fields"),
    ],
)
def test_anything_else_is_refused(text: str, says: str) -> None:
    with pytest.raises(CronError, match=says):
        Cron.parse(text)
