"""What happened to a job, one JSON line an event; and what follows from it, as pure data.

A job's events are the truth about it: the job process and the server both append to them, and a server that
was restarted reads them again.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from pathlib import Path

from overnight.vertex_local.job import JobState
from overnight.vertex_local.logs import Follower

ENDED = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class Kind(StrEnum):
    """What an event tells."""

    STATE = "state"
    """The job has reached `state`."""
    LAUNCH = "launch"
    """The job process number `launch` is started."""
    EXIT = "exit"
    """`replica` ended with `code` (0 to 255, or minus the signal's number)."""
    RESTART = "restart"
    """`replica` starts again in place, or, without a replica, the whole job does."""
    PREEMPTED = "preempted"
    """The launch is over because the machines were taken away."""
    INTERRUPTED = "interrupted"
    """The launch is over because the persistent resource reboots."""
    STOPPED = "stopped"
    """The launch is over because the server stops; the next server starts the job again."""
    LOST = "lost"
    """The job process is gone without an end: Vertex AI would say internal error."""
    STOCKOUT = "stockout"
    """The region had no such machine when the job was to start."""
    END = "end"
    """The job is over in `state`; `code` and `detail` are those of CustomJob.error."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One line; `time` in seconds since 1970."""

    kind: Kind
    time: float
    launch: int = 0
    state: JobState | None = None
    replica: str = ""
    code: int = 0
    detail: str = ""

    def line(self) -> str:
        """The event as one line of JSON, without what it does not say."""
        said = {name: value for name, value in asdict(self).items() if value not in ("", None, 0)}
        return json.dumps({"time": self.time, **said}, ensure_ascii=False)


def parse_event(line: str) -> Event | None:
    """The event of a line; None for a line that a killed process left unfinished."""
    try:
        data = json.loads(line)
        state = JobState(data["state"]) if "state" in data else None
        known = {field.name for field in fields(Event)} - {"kind", "state"}
        return Event(kind=Kind(data["kind"]), state=state, **{key: data[key] for key in known if key in data})
    except (ValueError, KeyError, TypeError):
        return None


def append_line(path: Path, line: str) -> None:
    """Add a line to a file that several processes append to: one write, so lines never mix."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        data = f"{line}\n".encode()
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


class EventReader:
    """Reads the events that were added since the last call, from the first on."""

    def __init__(self, path: Path) -> None:
        self._follower = Follower(path, position=0)

    def new(self) -> list[Event]:
        """The events of all whole lines."""
        return [event for line in self._follower.lines() if (event := parse_event(line))]


@dataclass(frozen=True)
class History:
    """Where a job stands after its events."""

    state: JobState = JobState.QUEUED
    detail: str = ""
    changed: float | None = None
    started: float | None = None
    """When it was RUNNING for the first time."""
    running_since: float | None = None
    """When the live launch was."""
    seconds_run: float = 0.0
    """How long the launches before the live one ran."""
    ended: float | None = None
    code: int = 0
    message: str = ""
    launches: int = 0
    live: int | None = None
    """The launch that has not ended."""
    stockouts: int = 0
    preemptions: int = 0
    losses: int = 0

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self.state in ENDED

    @property
    def cancelling(self) -> bool:
        """Whether somebody asked to cancel it."""
        return self.state is JobState.CANCELLING

    def after(self, events: Iterable[Event]) -> "History":
        """Where it stands after `events` too. What comes after the end changes nothing."""
        history = self
        for event in events:
            if not history.over:
                history = _after(history, event)
        return history


def _after(history: History, event: Event) -> History:
    history = replace(history, changed=event.time, detail=event.detail)
    match event.kind:
        case Kind.STATE if event.state is JobState.RUNNING:
            first = history.started or event.time, history.running_since or event.time
            return _moved(replace(history, started=first[0], running_since=first[1]), JobState.RUNNING)
        case Kind.STATE:
            return _moved(history, event.state or history.state)
        case Kind.LAUNCH:
            return _moved(replace(history, launches=event.launch, live=event.launch), JobState.PENDING)
        case Kind.STOCKOUT:
            return _moved(replace(history, stockouts=history.stockouts + 1), JobState.PENDING)
        case Kind.PREEMPTED:
            return _launch_over(replace(history, preemptions=history.preemptions + 1), event.time)
        case Kind.LOST:
            return _launch_over(replace(history, losses=history.losses + 1), event.time)
        case Kind.INTERRUPTED | Kind.STOPPED:
            return _launch_over(history, event.time)
        case Kind.END:
            ended = replace(history, live=None, ended=event.time, code=event.code, message=event.detail)
            return replace(ended, state=event.state or JobState.FAILED)
        case Kind.EXIT | Kind.RESTART:
            return history


def _launch_over(history: History, time: float) -> History:
    ran = 0.0 if history.running_since is None else time - history.running_since
    history = replace(history, live=None, running_since=None, seconds_run=history.seconds_run + ran)
    return _moved(history, JobState.PENDING)


def _moved(history: History, state: JobState) -> History:
    """The new state, unless the job is being cancelled: then only its end counts."""
    return history if history.cancelling else replace(history, state=state)
