"""Strategies, retries and durations."""

from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView

DAY = 86_400
WEEK = 7 * DAY
FLEX_ACCELERATORS = (
    "NVIDIA_L4",
    "NVIDIA_TESLA_A100",
    "NVIDIA_A100_80GB",
    "NVIDIA_H100_80GB",
    "NVIDIA_H100_MEGA_80GB",
    "NVIDIA_H200_141GB",
    "NVIDIA_B200",
)
"""L4, A100, H100, H200, B200 (training/schedule-jobs-dws)."""

STRATEGY_DEPRECATED = warning(
    "strategy-deprecated", "The strategy is STANDARD, SPOT or FLEX_START.", "1.1; API v1 protobuf (Scheduling.Strategy)"
)
RETRIES_CONTRADICT = error(
    "retries-contradict",
    "disableRetries turns restartJobOnWorkerRestart off: not both are true.",
    "0 rule 15; API v1 protobuf",
)
WORKER_RESTART = warning(
    "worker-restart",
    "A job of several GPU machines restarts as a whole: one that comes back alone leaves the others hanging.",
    "1.1, 3, 6.2; training/understanding-training-service (inferred for NCCL)",
)
DURATION = error("duration", "Durations are positive; maxWaitDuration may be 0, for ever.", "1.1; API v1 protobuf")
TIMEOUT_LONG = warning(
    "timeout-long", "timeout is 7 days at most: no more is documented, and it is the default.", "1.1, 8"
)
DEADLINE_TIMEOUT = warning(
    "deadline-timeout", "The job is stopped before the deadline, not days after it.", "1.1; docs/jobs.md"
)
MAX_WAIT = error("max-wait", "maxWaitDuration goes with FLEX_START.", "0 rule 16; API v1 protobuf")
MAX_WAIT_DEADLINE = warning(
    "max-wait-deadline", "The job waits for machines no longer than the deadline leaves.", "1.1; docs/jobs.md"
)
FLEX_ACCELERATOR = error(
    "flex-start-accelerator",
    "FLEX_START is for L4, A100, H100, H200 and B200.",
    "0 rule 7; training/schedule-jobs-dws",
)
FLEX_TIMEOUT = error(
    "flex-start-timeout", "FLEX_START takes a timeout of 7 days at most.", "0 rule 7; training/schedule-jobs-dws"
)
FLEX_MACHINES = error(
    "flex-start-machines",
    "FLEX_START takes the same machine in every pool.",
    "0 rule 7; training/schedule-jobs-dws",
)


def strategy(job: JobView, context: Context) -> Iterator[Finding]:
    """Names that the API keeps and nobody should use."""
    new = {"ON_DEMAND": "STANDARD", "LOW_COST": "SPOT"}.get(job.strategy)
    if new:
        where = job.at("scheduling", "strategy")
        yield STRATEGY_DEPRECATED.at(where, f"{job.strategy} is deprecated", f"write {new}")


def retries(job: JobView, context: Context) -> Iterator[Finding]:
    """Two switches that exclude each other."""
    if job.scheduling.get("disableRetries") and job.scheduling.get("restartJobOnWorkerRestart"):
        yield RETRIES_CONTRADICT.at(
            job.at("scheduling", "disableRetries"),
            "disableRetries turns restartJobOnWorkerRestart off, and both are true",
            "set one of them to false",
        )


def worker_restart(job: JobView, context: Context) -> Iterator[Finding]:
    """Whether a lost worker takes the job with it."""
    synchronous = any(pool.has_gpu for pool in job.workers) and job.worker_replicas > 1
    served = any(pool.index == 2 and not pool.is_reduction_server for pool in job.pools)
    if synchronous and not served and not job.scheduling.get("restartJobOnWorkerRestart"):
        yield WORKER_RESTART.at(
            job.at("scheduling", "restartJobOnWorkerRestart"),
            "a worker that is restarted alone keeps its name, and the others wait for it in the all-reduce for ever",
            "write restartJobOnWorkerRestart: true, and resume from a checkpoint",
        )


def durations(job: JobView, context: Context) -> Iterator[Finding]:
    """Signs and sizes of durations."""
    timeout, wait = job.seconds("timeout"), job.seconds("maxWaitDuration")
    if timeout is not None and timeout <= 0:
        yield DURATION.at(job.at("scheduling", "timeout"), "a job needs time to run", "write seconds, such as 36000s")
    if wait is not None and wait < 0:
        said = "a job cannot wait for less than no time"
        yield DURATION.at(job.at("scheduling", "maxWaitDuration"), said, "write 0s for ever, or seconds")
    if timeout is not None and timeout > WEEK and job.strategy != "FLEX_START":
        said = "no timeout of more than 7 days is documented"
        yield TIMEOUT_LONG.at(job.at("scheduling", "timeout"), said, "write 604800s at most, and resume")


def deadline(job: JobView, context: Context) -> Iterator[Finding]:
    """Durations against the night."""
    if job.deadline_seconds is None:
        return
    timeout = job.seconds("timeout")
    if timeout is None or timeout > job.deadline_seconds:
        found = "7 days when it is not set" if timeout is None else f"{timeout:.0f} s"
        yield DEADLINE_TIMEOUT.at(
            job.at("scheduling", "timeout"),
            f"timeout is {found}, and the deadline {job.deadline_seconds} s: a hanging job is paid for till then",
            f"write timeout: {job.deadline_seconds}s or less",
        )
    if job.strategy != "FLEX_START":
        return
    wait = job.seconds("maxWaitDuration")
    if wait is None or wait == 0 or wait > job.deadline_seconds:
        found = "24 hours when it is not set" if wait is None else "for ever" if wait == 0 else f"{wait:.0f} s"
        yield MAX_WAIT_DEADLINE.at(
            job.at("scheduling", "maxWaitDuration"),
            f"the job waits for machines {found}, past the deadline of {job.deadline_seconds} s",
            "wait for less than the deadline minus the training time, then fall back",
        )


def waiting(job: JobView, context: Context) -> Iterator[Finding]:
    """maxWaitDuration without the strategy that reads it."""
    if "maxWaitDuration" in job.scheduling and job.strategy != "FLEX_START":
        yield MAX_WAIT.at(
            job.at("scheduling", "maxWaitDuration"),
            f"only FLEX_START waits for machines; {job.strategy} does not read this",
            "remove it, or write strategy: FLEX_START",
        )


def flex_start(job: JobView, context: Context) -> Iterator[Finding]:
    """What the Dynamic Workload Scheduler takes."""
    if job.strategy != "FLEX_START":
        return
    lacking = next((pool for pool in job.workers if pool.accelerator not in FLEX_ACCELERATORS), None)
    if lacking is not None:
        found = lacking.accelerator or ("a TPU" if lacking.is_tpu else "a machine without GPUs")
        yield FLEX_ACCELERATOR.at(
            job.at("scheduling", "strategy"),
            f"FLEX_START is for L4, A100, H100, H200 and B200, not for {found}",
            "write SPOT or STANDARD, or take one of these",
        )
    timeout = job.seconds("timeout")
    if timeout is not None and timeout > WEEK:
        said = "FLEX_START takes a timeout of 7 days at most"
        yield FLEX_TIMEOUT.at(job.at("scheduling", "timeout"), said, "write 604800s or less")
    first = job.pools[0] if job.pools else None
    for pool in job.pools[1:]:
        if first and pool.hardware != first.hardware and not pool.is_reduction_server:
            said = f"FLEX_START takes the same machine in every pool, and pool {pool.index} differs from pool 0"
            yield FLEX_MACHINES.at(pool.at("machineSpec"), said, "use one machineSpec, or another strategy")


CHECKS: tuple[Check, ...] = (strategy, retries, durations)
CLOUD_CHECKS: tuple[Check, ...] = (worker_restart, deadline, waiting, flex_start)
