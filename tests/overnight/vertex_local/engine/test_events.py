"""What follows from a job's events."""

import pytest

from overnight.vertex_local.engine.events import Event, EventReader, History, Kind, append_line, parse_event
from overnight.vertex_local.job import JobState


def event(kind, time=0.0, **said):
    return Event(kind=Kind(kind), time=time, **said)


RUN = [event("launch", 1.0, launch=1), event("state", 2.0, state=JobState.RUNNING)]


def test_an_event_survives_its_line():
    said = event("end", 12.5, launch=2, state=JobState.FAILED, replica="workerpool1-0", code=3, detail="größer")
    assert parse_event(said.line()) == said


@pytest.mark.parametrize(
    "line", ["", "{", '{"time": 1, "kind": "exit"', '{"time": 1}', '{"kind": "new", "time": 1}', "7"]
)
def test_what_is_no_event_is_passed_over(line):
    assert parse_event(line) is None


def test_a_job_that_runs_has_its_first_start_as_start_time():
    history = History().after([*RUN, event("preempted", 5.0), event("launch", 6.0, launch=2)])
    assert (history.state, history.live, history.started) == (JobState.PENDING, 2, 2.0)
    history = history.after([event("state", 8.0, state=JobState.RUNNING)])
    assert (history.state, history.started, history.running_since) == (JobState.RUNNING, 2.0, 8.0)


def test_launches_that_are_over_add_up_to_the_time_the_job_has_run():
    history = History().after([*RUN, event("preempted", 5.0), *RUN, event("lost", 3.0), event("stockout")])
    assert history.seconds_run == 3.0 + 1.0
    assert (history.preemptions, history.losses, history.stockouts, history.live) == (1, 1, 1, None)


def test_nothing_changes_a_job_that_has_ended():
    ended = History().after([*RUN, event("end", 9.0, state=JobState.SUCCEEDED)])
    assert ended.over
    assert ended.after([event("state", 10.0, state=JobState.CANCELLING), event("lost", 11.0)]) == ended


def test_a_job_that_is_being_cancelled_reaches_no_state_but_its_end():
    history = History().after([*RUN, event("state", state=JobState.CANCELLING), event("state", state=JobState.PENDING)])
    assert history.cancelling
    assert history.after([event("end", state=JobState.CANCELLED, code=1)]).state is JobState.CANCELLED


def test_a_reader_goes_on_where_it_was_and_waits_for_whole_lines(tmp_path):
    path = tmp_path / "events.jsonl"
    reader = EventReader(path)
    assert reader.new() == []
    append_line(path, RUN[0].line())
    assert reader.new() == [RUN[0]]
    half = RUN[1].line()
    with path.open("a") as file:
        file.write(half[:10])
        file.flush()
        assert reader.new() == []
        file.write(half[10:] + "\n")
    assert reader.new() == [RUN[1]]
