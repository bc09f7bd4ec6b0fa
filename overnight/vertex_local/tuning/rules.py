"""How many trials a tuning job starts, and when failed trials end it: pure functions of counts."""

from dataclasses import dataclass

MANY_FAILURES = 5
"""From this many on, more failed than successful trials end a job that sets no limit of its own."""


class JobError(ValueError):
    """The tuning job cannot be run as it stands."""


@dataclass(frozen=True)
class Limits:
    """The three numbers of a tuning job."""

    max_trials: int
    parallel: int
    max_failed: int
    """0: the service decides."""

    def check(self) -> None:
        """Raises JobError naming the field."""
        if self.max_trials < 1:
            raise JobError("max_trial_count: must be greater than 0.")
        if self.parallel < 1:
            raise JobError("parallel_trial_count: must be greater than 0.")
        if self.parallel > self.max_trials:
            raise JobError("parallel_trial_count: must not be greater than max_trial_count.")
        if not 0 <= self.max_failed <= self.max_trials:
            raise JobError("max_failed_trial_count: must be between 0 and max_trial_count.")


@dataclass(frozen=True)
class Tally:
    """Trials by how they stand."""

    active: int
    succeeded: int
    failed: int
    first_failed: bool
    """Whether trial 1 is among the failed."""

    @property
    def started(self) -> int:
        """All of them."""
        return self.active + self.succeeded + self.failed


def to_start(limits: Limits, tally: Tally) -> int:
    """How many trials may start now."""
    return max(0, min(limits.parallel - tally.active, limits.max_trials - tally.started))


def too_many_failed(limits: Limits, tally: Tally) -> str | None:
    """Why failed trials end the job, or None.

    Without a limit the service decides: it gives up when the first trial fails, later by the share of failures. Its
    exact share is not published.
    """
    if limits.max_failed:
        if tally.failed >= limits.max_failed:
            return f"The number of failed trials has reached max_failed_trial_count, which is {limits.max_failed}."
        return None
    if tally.first_failed:
        return "The first trial failed."
    if tally.failed >= MANY_FAILURES and tally.failed > tally.succeeded:
        return "More trials failed than succeeded."
    return None
