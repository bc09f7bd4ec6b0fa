"""What a schedule does at a given time: start a run, queue it, skip it, complete. Pure functions of plain data."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

NextTime = Callable[[datetime], datetime]
"""The first time later than the one given."""

SOON = timedelta(microseconds=1)


class Act(StrEnum):
    """What becomes of one scheduled time."""

    START = "start"
    QUEUE = "queue"
    SKIP = "skip"


@dataclass(frozen=True)
class Terms:
    """What the user has laid down."""

    start: datetime
    end: datetime | None
    max_runs: int
    """0: no limit."""
    max_active: int
    """Runs that may be under way at once; 0: no limit."""
    queueing: bool


@dataclass(frozen=True)
class Clockwork:
    """Where a schedule stands: the next time to act upon, and times that wait for room, oldest first."""

    next: datetime
    started: int = 0
    queued: tuple[datetime, ...] = ()


def first_time(terms: Terms, next_time: NextTime) -> datetime:
    """The first scheduled time: at or after the start."""
    return next_time(terms.start - SOON)


def completed(terms: Terms, clockwork: Clockwork) -> bool:
    """Whether no new run can come: the runs are used up, or the next one would be after the end."""
    used_up = terms.max_runs > 0 and clockwork.started >= terms.max_runs
    over = terms.end is not None and clockwork.next > terms.end and not clockwork.queued
    return used_up or over


def step(
    terms: Terms, clockwork: Clockwork, next_time: NextTime, now: datetime, active: int
) -> tuple[Clockwork, Act, datetime] | None:
    """The next thing to do, with the scheduled time that it is for and where the schedule stands then.

    None: nothing to do now. Call again with the new state until then; `active` counts runs under way.
    """
    if completed(terms, clockwork):
        return None
    room = not terms.max_active or active < terms.max_active
    if clockwork.queued and room:
        scheduled, *rest = clockwork.queued
        return replace(clockwork, queued=tuple(rest), started=clockwork.started + 1), Act.START, scheduled
    scheduled = clockwork.next
    if scheduled > now or (terms.end is not None and scheduled > terms.end):
        return None
    after = replace(clockwork, next=next_time(scheduled))
    if room:
        return replace(after, started=after.started + 1), Act.START, scheduled
    if terms.queueing:
        return replace(after, queued=(*after.queued, scheduled)), Act.QUEUE, scheduled
    return after, Act.SKIP, scheduled


def resume(clockwork: Clockwork, next_time: NextTime, now: datetime, *, catch_up: bool) -> Clockwork:
    """Where a paused schedule goes on: with the times that it missed (`catch_up`), else with the next to come."""
    if catch_up or clockwork.next > now:
        return clockwork
    return replace(clockwork, next=next_time(now))
