"""Which runs a schedule starts, queues and skips."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from overnight.vertex_local.schedules.cron import Cron
from overnight.vertex_local.schedules.plan import Act, Clockwork, Terms, completed, first_time, resume, step

NEXT = Cron.parse("0 20 * * 5").next_after
START = datetime(2026, 11, 30, tzinfo=UTC)
FRIDAY = datetime(2026, 12, 4, 20, tzinfo=UTC)
WEEK = timedelta(days=7)
TERMS = Terms(start=START, end=None, max_runs=0, max_active=0, queueing=False)


def run(terms: Terms, clockwork: Clockwork, now: datetime, active: int = 0, *, count: bool = True) -> tuple:
    """All steps until nothing is to be done; `count`: what starts stays under way."""
    acts = []
    while (found := step(terms, clockwork, NEXT, now, active)) is not None:
        clockwork, act, scheduled = found
        acts.append((act, scheduled))
        active += count and act is Act.START
    return clockwork, acts


def test_nothing_happens_before_the_first_time() -> None:
    clockwork = Clockwork(first_time(TERMS, NEXT))
    assert clockwork.next == FRIDAY
    assert run(TERMS, clockwork, FRIDAY - timedelta(seconds=1)) == (clockwork, [])


def test_a_start_time_on_the_minute_counts() -> None:
    assert first_time(replace(TERMS, start=FRIDAY), NEXT) == FRIDAY


def test_every_time_that_has_passed_starts_a_run() -> None:
    clockwork, acts = run(TERMS, Clockwork(FRIDAY), FRIDAY + WEEK)
    assert acts == [(Act.START, FRIDAY), (Act.START, FRIDAY + WEEK)]
    assert (clockwork.next, clockwork.started) == (FRIDAY + 2 * WEEK, 2)


def test_a_run_that_has_no_room_is_skipped() -> None:
    terms = replace(TERMS, max_active=1)
    clockwork, acts = run(terms, Clockwork(FRIDAY), FRIDAY + WEEK)
    assert acts == [(Act.START, FRIDAY), (Act.SKIP, FRIDAY + WEEK)]
    assert clockwork == Clockwork(FRIDAY + 2 * WEEK, started=1)


def test_with_queueing_it_starts_as_soon_as_there_is_room() -> None:
    terms = replace(TERMS, max_active=1, queueing=True)
    clockwork, acts = run(terms, Clockwork(FRIDAY), FRIDAY + WEEK)
    assert acts[-1] == (Act.QUEUE, FRIDAY + WEEK)
    clockwork, acts = run(terms, clockwork, FRIDAY + WEEK, active=0)
    assert acts == [(Act.START, FRIDAY + WEEK)]
    assert clockwork.queued == ()


def test_a_schedule_completes_after_its_last_run() -> None:
    terms = replace(TERMS, max_runs=2)
    clockwork, acts = run(terms, Clockwork(FRIDAY), FRIDAY + 5 * WEEK)
    assert len(acts) == 2
    assert completed(terms, clockwork)


def test_a_schedule_completes_when_no_time_is_left_before_its_end() -> None:
    terms = replace(TERMS, end=FRIDAY + WEEK)
    clockwork, acts = run(terms, Clockwork(FRIDAY), FRIDAY)
    assert not completed(terms, clockwork)
    clockwork, acts = run(terms, clockwork, FRIDAY + 5 * WEEK)
    assert acts == [(Act.START, FRIDAY + WEEK)]
    assert completed(terms, clockwork)


def test_a_schedule_with_queued_runs_is_not_complete_at_its_end() -> None:
    terms = replace(TERMS, end=FRIDAY, max_active=1, queueing=True)
    clockwork, _ = run(terms, Clockwork(FRIDAY), FRIDAY, active=1)
    assert not completed(terms, clockwork)
    clockwork, acts = run(terms, clockwork, FRIDAY + WEEK, active=0)
    assert acts == [(Act.START, FRIDAY)]
    assert completed(terms, clockwork)


def test_a_resumed_schedule_goes_on_with_the_next_time() -> None:
    assert resume(Clockwork(FRIDAY), NEXT, FRIDAY + 3 * WEEK, catch_up=False).next == FRIDAY + 4 * WEEK


def test_a_schedule_resumed_with_catch_up_goes_on_with_the_times_it_missed() -> None:
    clockwork = resume(Clockwork(FRIDAY), NEXT, FRIDAY + 2 * WEEK, catch_up=True)
    assert len(run(TERMS, clockwork, FRIDAY + 2 * WEEK)[1]) == 3
