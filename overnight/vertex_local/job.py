"""The life of a job as plain data: states, events, its end; and when it is tried again."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.messages import CustomJob
from overnight.vertex_local.process import CANNOT_START, Exit

MAX_RESTARTS = 3
"""Vertex AI restarts a whole job at most three times ("Understand the training service")."""

NOT_RETRIED = (2, CANNOT_START)
"""Exit codes that stay: 2, by which the trainer and Overnight say that the user must put something right, and
a command that is not there."""


class JobState(StrEnum):
    """The states of a custom job, named as in the API without their prefix `JOB_STATE_`."""

    QUEUED = "QUEUED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    CANCELLING = "CANCELLING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"


@dataclass(frozen=True)
class StateChanged:
    """The job has reached a state; `detail` is empty or one sentence."""

    state: JobState
    detail: str = ""


@dataclass(frozen=True)
class LogLine:
    """A replica has written a line."""

    replica: ReplicaName
    text: str


Listener = Callable[[StateChanged | LogLine], None]


@dataclass(frozen=True)
class JobEnd:
    """How a job ended."""

    state: JobState
    verdict: str
    """One sentence."""
    restarts: int
    seconds: float
    failed: Exit | None = None
    """The replica that failed, where one did."""
    log_tail: tuple[str, ...] = ()
    """Last lines of that replica's log."""

    @property
    def needs_the_user(self) -> bool:
        """Whether trying again unchanged would fail again."""
        return self.failed is not None and self.failed.code in NOT_RETRIED


def will_restart(job: CustomJob, failed: Exit, restarts: int) -> bool:
    """Whether the job starts again after `failed`, when it has been restarted `restarts` times already.

    Vertex AI would also retry exit code 2 and a command that is not there. Neither gets better by itself,
    so here they end the job at once.
    """
    scheduling = job.job_spec.scheduling
    if scheduling.disable_retries or not scheduling.restart_job_on_worker_restart:
        return False
    return failed.code not in NOT_RETRIED and restarts < MAX_RESTARTS
