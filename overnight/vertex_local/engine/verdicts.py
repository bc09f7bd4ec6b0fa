"""What becomes of a job whose launch is over without an end of its own, or that found no machines: pure rules."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from overnight.vertex_local.engine.codes import Code
from overnight.vertex_local.engine.events import History
from overnight.vertex_local.engine.stockouts import SPOT_RETRIES, STANDARD_RETRIES, stockout_message
from overnight.vertex_local.job import JobState

SPOT = 4
FLEX_START = 6
"""Numbers of Scheduling.Strategy."""

ATTEMPTS = 3
"""An internal error restarts a job twice ("Understand the training service")."""
INTERNAL_ERROR = "Internal error occurred for the current attempt."

FLEX_WAIT = timedelta(hours=24)
"""maxWaitDuration where it is not set."""


@dataclass(frozen=True)
class End:
    """The state, and CustomJob.error."""

    state: JobState
    code: Code
    message: str


CANCELLED = End(JobState.CANCELLED, Code.CANCELLED, "The job was cancelled.")


def no_machines(region: str) -> End:
    """The end of a job that has asked for machines often or long enough."""
    return End(JobState.FAILED, Code.RESOURCE_EXHAUSTED, stockout_message(region))


def end_of(history: History, job: Any, region: str) -> End | None:
    """How a job without a live launch ends; None when it goes back to the queue."""
    scheduling = job.job_spec.scheduling
    if history.cancelling:
        return CANCELLED
    if history.losses >= ATTEMPTS or (history.losses and scheduling.disable_retries):
        return End(JobState.FAILED, Code.INTERNAL, INTERNAL_ERROR)
    if scheduling.strategy == FLEX_START:
        return None  # It waits for machines until maxWaitDuration.
    retries = SPOT_RETRIES if scheduling.strategy == SPOT else STANDARD_RETRIES
    return no_machines(region) if history.stockouts + history.preemptions > retries else None


def longest_wait(job: Any) -> timedelta | None:
    """How long a FLEX_START job may wait for machines; None for any other, and where 0 says for ever."""
    scheduling = job.job_spec.scheduling
    if scheduling.strategy != FLEX_START:
        return None
    if not scheduling.HasField("max_wait_duration"):
        return FLEX_WAIT
    return scheduling.max_wait_duration.ToTimedelta() or None
