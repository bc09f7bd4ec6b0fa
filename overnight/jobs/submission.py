"""Submit a plan: one start, once, and the next one when there are no machines; all of it on record."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import canonical_json, read_json, write_atomically
from overnight.jobs.client import Job, Jobs, Refused
from overnight.jobs.errors import RunFailed
from overnight.jobs.explain import Kind, explain, failure_kind, quota_metrics
from overnight.jobs.fallback import Budgets, GiveUp, Outcome, Start, next_step
from overnight.jobs.plan import Plan
from overnight.jobs.request import SPEC_LABEL, TOKEN_LABEL, Request
from overnight.jobs.view import KINDS

FORMAT = "overnight.submission/1"
NAME = "submission.json"
DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds between tries of a request that did not get through; a minute in all."""

Clock = Callable[[], datetime]
Sleep = Callable[[float], None]


class RunConflict(OvernightError):
    """A run of this id exists, and was made of something else."""


@dataclass(frozen=True)
class Try:
    """One start of a run."""

    fallback: int
    retry: int
    time: str
    """When it was sent, or found."""
    job: str | None
    """Its full name; None when the service refused it."""
    kind: Kind | None = None
    """How it ended, where that led to another start or to none."""
    said: str = ""
    """In the service's words."""


@dataclass(frozen=True)
class Submission:
    """A run on Vertex AI: what may be started, and what was."""

    run_id: str
    digest: str
    model: str
    snapshot: str
    spec: str
    submitted: str
    deadline_seconds: int | None
    requests: tuple[Request, ...]
    tries: tuple[Try, ...] = ()

    @property
    def job(self) -> str | None:
        """The job that was started last."""
        return next((item.job for item in reversed(self.tries) if item.job), None)

    @property
    def outcomes(self) -> list[Outcome]:
        """How the tries that have ended did."""
        return [Outcome(item.fallback, item.retry, item.kind) for item in self.tries if item.kind]

    def seconds_left(self, now: datetime) -> float | None:
        """Until the deadline, from the first submission."""
        if self.deadline_seconds is None:
            return None
        return self.deadline_seconds - (now - datetime.fromisoformat(self.submitted)).total_seconds()

    def request(self, start: Start) -> Request:
        """What to send for a start."""
        first = self.requests[start.fallback]
        return first.again(start.retry) if start.retry else first

    def tried(self, item: Try) -> "Submission":
        """With one more try."""
        return replace(self, tries=(*self.tries, item))

    def ended(self, kind: Kind, said: str) -> "Submission":
        """With the end of the last try."""
        return replace(self, tries=(*self.tries[:-1], replace(self.tries[-1], kind=kind, said=said)))


def submit(plan: Plan, jobs: Jobs, folder: Path, clock: Clock, sleep: Sleep, budgets: Budgets) -> Submission:
    """Start the plan's job, or find that it was started, and write `submission.json` into `folder`.

    A second call with the same run id starts nothing more, on this machine or another, unless the job has ended for
    lack of machines and a fallback is left. Raises RunConflict when the run was made of something else, RunFailed
    when nothing could be started.
    """
    submission = _opened(plan, folder, clock())
    if submission.tries:
        found = jobs.get(submission.tries[-1].job or "")
        if not _lacks_machines(found):
            return submission
        submission = keep(folder, submission.ended("stockout", found.error))
    return go_on(submission, jobs, folder, clock, sleep, budgets)


def go_on(submission: Submission, jobs: Jobs, folder: Path, clock: Clock, sleep: Sleep, budgets: Budgets) -> Submission:
    """Start what comes next after the tries that have ended; raises RunFailed when nothing does."""
    while True:
        step = next_step(submission.outcomes, len(submission.requests), budgets, submission.seconds_left(clock()))
        if isinstance(step, GiveUp):
            raise RunFailed(_last_words(submission, step), where=f"run {submission.run_id}", remedy=_advice(submission))
        request = submission.request(step)
        try:
            job = start(request, jobs, sleep)
        except Refused as refused:
            refusal = Try(step.fallback, step.retry, _text(clock()), None, refused.kind, refused.sentence)
            submission = keep(folder, submission.tried(refusal))
            continue
        submission = keep(folder, submission.tried(Try(step.fallback, step.retry, _text(clock()), job.name)))
        if not _lacks_machines(job):
            return submission
        submission = keep(folder, submission.ended("stockout", job.error))


def start(request: Request, jobs: Jobs, sleep: Sleep) -> Job:
    """The job of this request: the one that is there, else a new one. What heals by itself is waited for."""
    for delay in (*DELAYS, None):
        try:
            return _there_already(request, jobs) or _alone(jobs.create(request), request, jobs)
        except Refused as refused:
            if refused.kind != "passing" or delay is None:
                raise
            sleep(delay)
    raise AssertionError("the last delay is None")


def read_submission(folder: Path) -> Submission:
    """What stands in `submission.json`; raises OvernightError when there is none."""
    data = read_json(folder / NAME, FORMAT)
    requests = tuple(_request(entry) for entry in data["requests"])
    fields = {name: data[name] for name in Submission.__dataclass_fields__ if name not in ("requests", "tries")}
    return Submission(**fields, requests=requests, tries=tuple(Try(**item) for item in data["tries"]))


def submission_json(submission: Submission) -> dict[str, Any]:
    """The content of `submission.json`."""
    fields = asdict(replace(submission, requests=()))
    requests = [{"fallback": item.fallback, "request": item.body} for item in submission.requests]
    return {"format": FORMAT, **fields, "requests": requests, "job": submission.job}


def _there_already(request: Request, jobs: Jobs) -> Job | None:
    found = jobs.of_run(request)
    for job in found:
        if job.labels.get(SPEC_LABEL) != request.digest:
            raise _conflict(request.run_id, job.name)
    return next((job for job in found if job.labels.get(TOKEN_LABEL) == request.token), None)


def _alone(made: Job, request: Request, jobs: Jobs) -> Job:
    """The job that stays: two who looked at the same moment have both started one, and the older stays."""
    rivals = [job for job in jobs.of_run(request) if job.labels.get(TOKEN_LABEL) == request.token]
    oldest = min([made, *rivals], key=lambda job: (job.created or datetime.max.replace(tzinfo=UTC), job.name))
    if oldest.name != made.name:
        jobs.cancel(made.name)
    return oldest


def _opened(plan: Plan, folder: Path, now: datetime) -> Submission:
    """The run's record, without tries that came to nothing; a new one where there is none."""
    if (folder / NAME).is_file():
        submission = read_submission(folder)
        if submission.digest != plan.digest:
            raise _conflict(plan.run_id, str(folder / NAME))
        return replace(submission, tries=tuple(item for item in submission.tries if item.job))
    return Submission(
        run_id=plan.run_id,
        digest=plan.digest,
        model=plan.model,
        snapshot=plan.snapshot,
        spec=str(plan.spec),
        submitted=_text(now),
        deadline_seconds=plan.deadline_seconds,
        requests=plan.requests,
    )


def _conflict(run_id: str, where: str) -> RunConflict:
    return RunConflict(
        f"run {run_id} was submitted with another spec, snapshot or environment",
        where=where,
        remedy="undo the change, or leave --run-id out for a new run",
    )


def keep(folder: Path, submission: Submission) -> Submission:
    """Write the record, whole or not at all; returns it."""
    write_atomically(folder / NAME, canonical_json(submission_json(submission)))
    return submission


def _request(entry: dict[str, Any]) -> Request:
    body = entry["request"]
    kind = next(kind for kind in KINDS if kind in body)
    return Request(body["parent"], kind, body[kind], entry["fallback"])


def _lacks_machines(job: Job) -> bool:
    return job.state == "FAILED" and failure_kind(job.error) == "stockout"


def _last_words(submission: Submission, step: GiveUp) -> str:
    said = submission.tries[-1].said.rstrip(".")
    return f"{said}; {step.reason}" if said else step.reason


def _advice(submission: Submission) -> str:
    """The remedy of what was said last, and the quota metrics that it names."""
    said = submission.tries[-1].said
    known, metrics = explain(said), quota_metrics(said)
    advice = known.sentence.rstrip(".") if known else "see `overnight job explain`"
    return f"{advice} ({', '.join(metrics)})" if metrics else advice


def _text(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
