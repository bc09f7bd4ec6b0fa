"""When a schedule starts: five cron fields after an explicit time zone, and when in UTC its window has passed."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

EXAMPLE = "write it such as CRON_TZ=Europe/Paris 0 20 * * 5"
REFERENCE_YEAR = 2027
"""Whose offsets from UTC count: a fixed year, so that the same file always gives the same plan."""
HOUR, DAY, WEEK = 60, 24 * 60, 7 * 24 * 60
"""In minutes."""

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True)
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()
    """Words for `low`, `low` + 1, …"""

    @property
    def fits(self) -> str:
        words = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        return f"give {self.low} to {self.high}{words}"


FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, MONTHS),
    _Field("weekday", 0, 7, WEEKDAYS),
)


@dataclass(frozen=True, kw_only=True)
class WindowEnd:
    """The first full hour in UTC by which a run, started at the latest that daylight saving allows, must have ended.

    Exactly one of `weekday_utc` and `day_utc` is set. They compare directly with PromQL's `hour()`, `day_of_week()`
    (0 is Sunday) and `day_of_month()`.
    """

    hour_utc: int
    weekday_utc: int | None = None
    """For a weekly schedule: 0 (Sunday) to 6."""
    day_utc: int | None = None
    """For a monthly schedule: 1 to 28, a day that every month has."""
    lookback_hours: int
    """From the earliest start that daylight saving allows to this hour: where a query looks for the run."""


@dataclass(frozen=True, kw_only=True)
class Cron:
    """A parsed schedule; each field holds the values that it matches, in rising order."""

    time_zone: str
    """IANA name."""
    text: str
    """As written, zone included: what Vertex AI takes."""
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    """0 (Sunday) to 6; a written 7 is 0."""

    @classmethod
    def parse(cls, text: str) -> "Cron":
        """Read `CRON_TZ=ZONE minute hour day month weekday` (or `TZ=`).

        Raises ValueError naming the field that is wrong, with the remedy after a semicolon.
        """
        zone = _zone(text)
        parts = text.split()[1:]
        if len(parts) != len(FIELDS):
            raise ValueError(
                f"a cron schedule has five fields (minute hour day month weekday), this has {len(parts)}; {EXAMPLE}"
            )
        minutes, hours, days, months, weekdays = (
            _values(part, field) for part, field in zip(parts, FIELDS, strict=True)
        )
        return cls(
            time_zone=zone,
            text=text,
            minutes=minutes,
            hours=hours,
            days=days,
            months=months,
            weekdays=tuple(sorted({day % 7 for day in weekdays})),
        )

    @property
    def schedule(self) -> str:
        """The five fields alone: what Cloud Scheduler takes beside its own `time_zone`."""
        return " ".join(self.text.split()[1:])

    @property
    def once_a_week(self) -> bool:
        """Whether it starts at one minute of every week."""
        return self._one_time_a_day and len(self.weekdays) == 1 and len(self.days) == 31 and len(self.months) == 12

    @property
    def once_a_month(self) -> bool:
        """Whether it starts at one minute of every month, on a day that every month has (1 to 28)."""
        return (
            self._one_time_a_day
            and len(self.days) == 1
            and self.days[0] <= 28
            and len(self.months) == 12
            and len(self.weekdays) == 7
        )

    @property
    def _one_time_a_day(self) -> bool:
        return len(self.minutes) == 1 and len(self.hours) == 1

    def window_ends(self, window_hours: int) -> WindowEnd:
        """When a run has had its `window_hours`, whichever offset from UTC holds on the day it starts.

        Raises ValueError when the schedule starts neither once a week nor once a month, or when a monthly window ends
        on a day that not every month has.
        """
        offsets = self._offsets()
        time = self.hours[0] * HOUR + self.minutes[0]
        # In minutes from Sunday, or the 1st, 00:00 UTC. West of Greenwich (a smaller offset) starts later in UTC.
        start = (self.weekdays[0] if self.once_a_week else self.days[0] - 1) * DAY + time
        end = _full_hour(start - min(offsets) + window_hours * HOUR)
        hours = -(-(end - start + max(offsets)) // HOUR)
        if self.once_a_week:
            return WindowEnd(hour_utc=end % DAY // HOUR, weekday_utc=end % WEEK // DAY, lookback_hours=hours)
        if not self.once_a_month:
            raise ValueError(f"{self.text!r} starts neither once a week nor once a month; {EXAMPLE}")
        day = end // DAY + 1
        if not 1 <= day <= 28:
            raise ValueError(
                f"{window_hours} hours after {self.text!r} is not on the 1st to 28th in UTC, so not every month has "
                "that day; start on a day that leaves room"
            )
        return WindowEnd(hour_utc=end % DAY // HOUR, day_utc=day, lookback_hours=hours)

    def _offsets(self) -> set[int]:
        """Minutes east of UTC that the zone has in the year."""
        zone, noon = ZoneInfo(self.time_zone), datetime(REFERENCE_YEAR, 1, 1, 12, tzinfo=UTC)
        local = ((noon + timedelta(days=day)).astimezone(zone).utcoffset() for day in range(365))
        return {int(offset.total_seconds()) // 60 for offset in local if offset is not None}


def _full_hour(minutes: int) -> int:
    return -(-minutes // HOUR) * HOUR


@cache
def _zones() -> set[str]:
    """All zones; found by walking folders, so only once."""
    return available_timezones()


def _zone(text: str) -> str:
    first = text.split()[0] if text.split() else ""
    if not first.startswith(("CRON_TZ=", "TZ=")):
        raise ValueError(f"the time zone is missing; {EXAMPLE}")
    zone = first.partition("=")[2]
    if zone not in _zones():
        raise ValueError(f"{zone!r} is not an IANA time zone; write one such as CRON_TZ=Europe/Paris")
    return zone


def _values(text: str, field: _Field) -> tuple[int, ...]:
    """Every value that one field matches: `*`, `5`, `1-5`, `*/15`, `1-31/7`, `MON`, and lists of these."""
    found: set[int] = set()
    for item in text.split(","):
        span, slash, step = item.partition("/")
        low, high = _span(span, field)
        if slash and not (step.isascii() and step.isdigit() and 1 <= int(step) <= field.high):
            raise ValueError(f"the {field.name} {item!r} has no step that fits; give 1 to {field.high} after the '/'")
        # As cron has it: `5/15` means from 5 on.
        end = _span("*", field)[1] if slash and low == high else high
        found.update(range(low, end + 1, int(step) if slash else 1))
    return tuple(sorted(found))


def _span(text: str, field: _Field) -> tuple[int, int]:
    if text == "*":
        # 7 is only another name of Sunday: `*/2` must not meet it twice.
        return field.low, field.high - (field.name == "weekday")
    first, dash, last = text.partition("-")
    low = _number(first, field)
    high = _number(last, field) if dash else low
    if low > high:
        raise ValueError(f"the {field.name} range {text!r} runs backwards; give the smaller end first")
    return low, high


def _number(text: str, field: _Field) -> int:
    if text.upper() in field.names:
        return field.low + field.names.index(text.upper())
    if not (text.isascii() and text.isdigit() and field.low <= int(text) <= field.high):
        raise ValueError(f"the {field.name} {text!r} is not one; {field.fits}")
    return int(text)
