"""Follow a job to its end: states with their times, new log lines; clock and sleep are passed in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from overnight.jobs.client import Job, Jobs, Refused
from overnight.jobs.errors import RunFailed
from overnight.jobs.explain import failure_kind
from overnight.jobs.fallback import Budgets
from overnight.jobs.job_logs import LogLine, Logs
from overnight.jobs.submission import Clock, Sleep, Submission, go_on, keep

INTERVAL_SECONDS = 10.0
"""Between two looks; the service allows 600 reads a minute to all of a project's users (vertex-facts 6.1)."""
PATIENCE = 30
"""Looks in a row that may find nobody: five minutes."""
EXIT_CODES = {"SUCCEEDED": 0, "FAILED": 2, "EXPIRED": 2, "PARTIALLY_SUCCEEDED": 3, "CANCELLED": 130}
"""Exit code of `overnight job watch` by end state; as `overnight run`."""


@dataclass(frozen=True)
class Look:
    """What one look showed."""

    job: Job
    now: datetime
    changed: bool
    """Whether the state differs from that of the look before."""
    lines: tuple[LogLine, ...]
    """Log lines since then."""

    @property
    def since(self) -> datetime:
        """When the state began, as far as the service says."""
        if self.job.over:
            return self.job.ended or self.now
        if self.job.state == "RUNNING":
            return self.job.started or self.now
        return (self.job.created or self.now) if self.job.started is None else self.now


Report = Callable[[Look], None]


def follow(
    name: str, jobs: Jobs, logs: Logs, clock: Clock, sleep: Sleep, interval: float = INTERVAL_SECONDS
) -> Iterator[Look]:
    """Look again and again until the job has ended; raises Refused for what does not pass."""
    before, missed = "", 0
    while True:
        try:
            job = jobs.get(name)
        except Refused as refused:
            missed += 1
            if refused.kind != "passing" or missed > PATIENCE:
                raise
            sleep(interval)
            continue
        missed = 0
        yield Look(job, clock(), job.state != before, tuple(logs.new(job)))
        if job.over:
            return
        before = job.state
        sleep(interval)


def watch(
    name: str, jobs: Jobs, logs: Logs, clock: Clock, sleep: Sleep, report: Report, interval: float = INTERVAL_SECONDS
) -> Job:
    """Report every look; returns the job as it ended."""
    for look in follow(name, jobs, logs, clock, sleep, interval):
        report(look)
    return look.job


@dataclass(frozen=True)
class Run:
    """A run that is followed over all its starts."""

    submission: Submission
    folder: Path
    budgets: Budgets


def watch_run(
    run: Run, jobs: Jobs, logs: Logs, clock: Clock, sleep: Sleep, report: Report, interval: float = INTERVAL_SECONDS
) -> Job:
    """Watch the run's job; when it fails, start what the budgets and the fallbacks allow, and watch that.

    Raises RunFailed when nothing more is started.
    """
    submission = run.submission
    while True:
        name = submission.job
        if name is None:
            raise RunFailed("nothing of this run was started", where=str(run.folder), remedy="submit it again")
        job = watch(name, jobs, logs, clock, sleep, report, interval)
        if job.state != "FAILED":
            return job
        ended = keep(run.folder, submission.ended(failure_kind(job.error), job.error))
        submission = go_on(ended, jobs, run.folder, clock, sleep, run.budgets)
