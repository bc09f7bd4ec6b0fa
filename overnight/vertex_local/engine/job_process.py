"""`python -m overnight.vertex_local.engine.job_process FOLDER LAUNCH`: one running job, apart from the server.

A process without threads, so that it may prepare its replicas between fork and exec, and one that the end of
the server leaves alone: it tells all it does in the job's events. It imports the standard library only.
"""

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from overnight.vertex_local.cancel import cancel_on_signals
from overnight.vertex_local.engine.codes import Code
from overnight.vertex_local.engine.crew import Attempt, Crew, Outcome
from overnight.vertex_local.engine.events import Kind
from overnight.vertex_local.engine.folder import JobFolder
from overnight.vertex_local.engine.orders import Order
from overnight.vertex_local.engine.plan import Plan, parse_plan
from overnight.vertex_local.engine.reporter import Reporter
from overnight.vertex_local.engine.retries import replica_error
from overnight.vertex_local.guard import Guard, guarded
from overnight.vertex_local.job import JobState

ALREADY_RUNNING = 75
"""The exit code when another process runs this job: EX_TEMPFAIL."""

_LOCK_SECONDS = 2.0

_ENDED_BY = {Order.PREEMPT: Kind.PREEMPTED, Order.INTERRUPT: Kind.INTERRUPTED, Order.STOP: Kind.STOPPED}


def main(arguments: list[str]) -> int:
    """Run launch `arguments[1]` of the job in the folder `arguments[0]` to its end."""
    folder = JobFolder(Path(arguments[0]))
    plan = parse_plan(folder.plan(int(arguments[1])).read_text())
    with _lock(folder.lock) as mine:
        # A later launch means that the server has given this one up before it got here.
        if not mine or folder.plan(plan.launch + 1).exists():
            return ALREADY_RUNNING
        with cancel_on_signals() as signals, guarded() as guard:
            reporter = Reporter(folder, plan, signals)
            _tell_end(run(plan, reporter, guard), plan, reporter)
    return 0


def run(plan: Plan, reporter: Reporter, guard: Guard) -> Attempt:
    """Attempt the job until it need not or may not start again; returns the last attempt."""
    restarts = 0
    while True:
        attempt = Crew(plan, reporter, guard, restarts).work()
        if attempt.outcome is not Outcome.RESTART or attempt.failed is None:
            return attempt
        restarts += 1
        how = f"replica {attempt.failed.replica} ended with {attempt.failed.text}"
        reporter.event(Kind.RESTART, detail=how)
        reporter.state(JobState.PENDING, f"{how}; restart {restarts} of {plan.policy.whole_job} of the whole job")


def _tell_end(attempt: Attempt, plan: Plan, reporter: Reporter) -> None:
    if attempt.order in _ENDED_BY:
        reporter.say("ERROR" if attempt.order is Order.PREEMPT else "INFO", f"The job was stopped: {attempt.order}.")
        reporter.event(_ENDED_BY[attempt.order])
    elif attempt.order is Order.CANCEL:
        reporter.event(Kind.END, state=JobState.CANCELLED, code=Code.CANCELLED, detail="The job was cancelled.")
    elif attempt.outcome is Outcome.SUCCEEDED:
        reporter.say("INFO", "Job completed successfully.")
        reporter.event(Kind.END, state=JobState.SUCCEEDED)
    elif attempt.failed is not None:
        _tell_failure(reporter, Code.INVALID_ARGUMENT, replica_error(attempt.failed))
    else:
        text = f"The job ran longer than its timeout of {plan.timeout:g} seconds."
        _tell_failure(reporter, Code.DEADLINE_EXCEEDED, text)


def _tell_failure(reporter: Reporter, code: Code, message: str) -> None:
    reporter.say("ERROR", message)
    reporter.event(Kind.END, state=JobState.FAILED, code=code, detail=message)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[bool]:
    """Hold the job's lock while the block runs; yields whether it was free. The kernel frees it with the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield _wait_for(lambda: _try_lock(descriptor), _LOCK_SECONDS)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition was met in time; the server holds the lock for an instant when it looks."""
    deadline = time.monotonic() + seconds
    while not (met := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return met


def is_alive(folder: JobFolder) -> bool:
    """Whether a job process of this folder lives, whoever started it."""
    try:
        descriptor = os.open(folder.lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
