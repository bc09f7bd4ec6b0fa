"""The next time of a cron expression in a time zone: five fields after an optional `CRON_TZ=ZONE ` or `TZ=ZONE `.

Daylight saving: a local time that the clock skips comes at the same distance after the jump (02:30 becomes 03:30), so
that no run is lost; one that comes twice counts once, unless every hour is named.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
HORIZON_DAYS = 8 * 366 + 1
"""The longest wait there is: from one 29 February to the next across a year such as 2100."""


class CronError(ValueError):
    """The text is no cron expression, or one that never comes round."""


@dataclass(frozen=True)
class Cron:
    """A parsed expression: each field's values, and the zone of its clock."""

    zone: ZoneInfo
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    """0 is Sunday."""
    either_day: bool
    """Both day fields are restricted: a day counts when one of them fits, as cron has it."""

    @classmethod
    def parse(cls, text: str) -> "Cron":
        """Raises CronError. Without a zone the clock is UTC."""
        fields = text.split()
        zone = "UTC"
        if fields and fields[0].startswith(("CRON_TZ=", "TZ=")):
            zone = fields.pop(0).partition("=")[2]
        if len(fields) != 5:
            raise CronError(f"cron: {text!r} must have five fields.")
        cron = cls(
            zone=_zone(zone),
            minutes=_values(fields[0], 0, 59),
            hours=_values(fields[1], 0, 23),
            days=_values(fields[2], 1, 31),
            months=_values(fields[3], 1, 12, MONTHS),
            weekdays=tuple(sorted({day % 7 for day in _values(fields[4], 0, 7, WEEKDAYS)})),
            either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
        )
        cron.next_after(datetime(2024, 1, 1, tzinfo=UTC))
        return cron

    def next_after(self, moment: datetime) -> datetime:
        """The first time later than `moment`, in UTC. Raises CronError when there is none (30 February)."""
        day = moment.astimezone(self.zone).date() - timedelta(days=1)
        for offset in range(HORIZON_DAYS):
            if self._fits(today := day + timedelta(days=offset)):
                later = [found for found in self._times(today) if found > moment]
                if later:
                    return min(later)
        raise CronError("cron: the expression never comes round.")

    def _fits(self, day: date) -> bool:
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        fits = by_date or by_weekday if self.either_day else by_date and by_weekday
        return fits and day.month in self.months

    def _times(self, day: date) -> Iterator[datetime]:
        folds = (0, 1) if len(self.hours) == 24 else (0,)
        for hour in self.hours:
            for minute in self.minutes:
                for fold in folds:
                    local = datetime.combine(day, time(hour, minute, fold=fold), self.zone)
                    yield local.astimezone(UTC)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:  # what ZoneInfo raises for unknown names, folders, paths
        raise CronError(f"cron: {name!r} is not an IANA time zone.") from error


def _values(text: str, low: int, high: int, names: tuple[str, ...] = ()) -> tuple[int, ...]:
    """Every value that a field matches: `*`, `5`, `1-5`, `*/15`, `1-31/7`, `MON`, and lists of these."""
    found: set[int] = set()
    for item in text.split(","):
        span, slash, step = item.partition("/")
        first, last = _span(span, low, high, names)
        if slash and "-" not in span:
            last = high
        # 7 is only another name of Sunday: `*/2` must not meet it twice.
        last = min(last, 6) if names is WEEKDAYS and (span == "*" or (slash and "-" not in span)) else last
        if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
            raise CronError(f"cron: the step of {item!r} is not a number above 0.")
        found.update(range(first, last + 1, int(step) if slash else 1))
    return tuple(sorted(found))


def _span(text: str, low: int, high: int, names: tuple[str, ...]) -> tuple[int, int]:
    if text == "*":
        return low, high
    first, dash, last = text.partition("-")
    start = _number(first, low, high, names)
    end = _number(last, low, high, names) if dash else start
    if start > end:
        raise CronError(f"cron: the range {text!r} runs backwards.")
    return start, end


def _number(text: str, low: int, high: int, names: tuple[str, ...]) -> int:
    if text.upper() in names:
        return names.index(text.upper()) + low
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise CronError(f"cron: {text!r} is not between {low} and {high}.")
    return int(text)
