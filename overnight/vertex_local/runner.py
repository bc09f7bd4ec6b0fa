"""Run a custom job: its replicas as processes, from QUEUED to SUCCEEDED, FAILED or CANCELLED."""

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from overnight.vertex_local.cluster import PRIMARY, JobIdentity, ReplicaName, replica_names, service_environment
from overnight.vertex_local.command import Command, container_command
from overnight.vertex_local.cores import core_shares
from overnight.vertex_local.guard import Guard, guarded
from overnight.vertex_local.job import JobEnd, JobState, Listener, LogLine, StateChanged, will_restart
from overnight.vertex_local.logs import Follower, last_lines, log_path
from overnight.vertex_local.messages import CustomJob
from overnight.vertex_local.ports import free_addresses
from overnight.vertex_local.process import CANNOT_START, Exit, ReplicaProcess

POLL_SECONDS = 0.05
GRACE_SECONDS = 30.0
"""From SIGTERM to SIGKILL: what a Spot machine has between the two."""
DEFAULT_TIMEOUT_SECONDS = 7 * 24 * 3600.0
"""Vertex AI's default for scheduling.timeout."""
TAIL_LINES = 15

CLEANUP_SECONDS = 30.0

CancelRequests = Callable[[], int]
"""How often the user has asked to stop; the second time there is no grace."""
Starter = Callable[[CustomJob, ReplicaName, Mapping[str, str]], Command]
"""From a replica, and the variables that Vertex AI sets, to its process."""


@dataclass(frozen=True)
class _Attempt:
    """How one attempt ended: `failed` is None when the primary succeeded, or nobody failed."""

    state: JobState
    failed: Exit | None = None


def run_job(
    job: CustomJob,
    identity: JobIdentity,
    logs: Path,
    listener: Listener,
    cancel_requests: CancelRequests,
    grace_seconds: float = GRACE_SECONDS,
    starter: Starter = container_command,
) -> JobEnd:
    """Run `job` to its end, with each replica's output in `logs`; returns how it ended, and leaves no process.

    It succeeds when the primary replica exits 0; the others are stopped then. A replica that exits otherwise
    stops all, and the whole job restarts where the message allows it. Raises NotLocal before anything
    starts when the message needs an image and `starter` has none.
    """
    started = time.monotonic()
    timeout = job.job_spec.scheduling.timeout.ToTimedelta().total_seconds() or DEFAULT_TIMEOUT_SECONDS
    check_starts(job, starter)
    listener(StateChanged(JobState.QUEUED))
    logs.mkdir(parents=True, exist_ok=True)
    restarts = 0
    with guarded() as guard:
        while True:
            listener(StateChanged(JobState.PENDING))
            crew = _Crew(_commands(job, identity, starter), logs, listener, guard)
            attempt = crew.work(started + timeout, cancel_requests, grace_seconds)
            if attempt.failed is None or not will_restart(job, attempt.failed, restarts):
                break
            restarts += 1
            listener(StateChanged(JobState.PENDING, f"{_how(attempt.failed)}; restart {restarts} of the whole job"))
    end = _end(attempt, logs, restarts, time.monotonic() - started, timeout)
    listener(StateChanged(end.state, end.verdict))
    return end


def check_starts(job: CustomJob, starter: Starter) -> None:
    """Raise NotLocal when `starter` cannot start one of the job's replicas."""
    for replica in replica_names(job):
        starter(job, replica, {})


def _commands(job: CustomJob, identity: JobIdentity, starter: Starter) -> dict[ReplicaName, Command]:
    addresses = free_addresses(replica_names(job))
    return {
        replica: starter(job, replica, service_environment(job, identity, addresses, replica)) for replica in addresses
    }


class _Crew:
    """The replicas of one attempt."""

    def __init__(self, commands: Mapping[ReplicaName, Command], logs: Path, listener: Listener, guard: Guard) -> None:
        self._commands = commands
        self._logs = logs
        self._listener = listener
        self._guard = guard
        self._followers = {replica: Follower(log_path(logs, replica)) for replica in self._commands}
        self._running: dict[ReplicaName, ReplicaProcess] = {}

    def work(self, deadline: float, cancel_requests: CancelRequests, grace_seconds: float) -> _Attempt:
        """Start all, watch them until the attempt is decided, stop what still runs."""
        try:
            failed = self._start()
            if failed is None:
                self._listener(StateChanged(JobState.RUNNING))
            attempt = _Attempt(JobState.FAILED, failed) if failed else self._watch(deadline, cancel_requests)
            if attempt.state is JobState.CANCELLED:
                self._listener(StateChanged(JobState.CANCELLING))
            self._stop(grace_seconds, cancel_requests)
        finally:
            self._stop(0.0, cancel_requests)
            self._clean_up()
            self._report_lines(final=True)
        return attempt

    def _start(self) -> Exit | None:
        shares = core_shares(self._commands, sorted(os.sched_getaffinity(0)))
        for replica, command in self._commands.items():
            try:
                process = ReplicaProcess(replica, command, log_path(self._logs, replica), shares[replica])
            except OSError as error:
                with log_path(self._logs, replica).open("a") as log:
                    log.write(f"{command.arguments[0]}: cannot be started: {error.strerror}\n")
                return Exit(replica, CANNOT_START)
            self._running[replica] = process
            self._guard.add(process.group)
        return None

    def _watch(self, deadline: float, cancel_requests: CancelRequests) -> _Attempt:
        while True:
            self._report_lines()
            exits = self._reap()
            failed = next((end for end in exits if end.code != 0), None)
            if any(end.replica == PRIMARY and end.code == 0 for end in exits):
                return _Attempt(JobState.SUCCEEDED)
            if failed and not cancel_requests():
                return _Attempt(JobState.FAILED, failed)
            if cancel_requests():
                return _Attempt(JobState.CANCELLED)
            if time.monotonic() > deadline:
                return _Attempt(JobState.FAILED)
            time.sleep(POLL_SECONDS)

    def _stop(self, grace_seconds: float, cancel_requests: CancelRequests) -> None:
        for process in self._running.values():
            process.terminate()
        requests = cancel_requests()
        deadline = time.monotonic() + grace_seconds
        while self._running and time.monotonic() < deadline and cancel_requests() <= max(requests, 1):
            self._report_lines()
            self._reap()
            time.sleep(POLL_SECONDS / 5)
        while self._running:
            for process in self._running.values():
                process.kill()
            self._reap()
            time.sleep(POLL_SECONDS / 5)

    def _clean_up(self) -> None:
        for command in self._commands.values():
            if command.cleanup:
                # It only removes what is mostly gone already: that it fails changes nothing about how the job ended.
                with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                    subprocess.run(
                        command.cleanup,
                        env=dict(command.environment),
                        stdin=subprocess.DEVNULL,
                        capture_output=True,
                        timeout=CLEANUP_SECONDS,
                        check=False,
                    )

    def _reap(self) -> list[Exit]:
        """The replicas that ended since the last call; killed ones first, whose peers often fail because of it."""
        ended = [end for process in self._running.values() if (end := process.poll())]
        for end in ended:
            self._guard.remove(self._running.pop(end.replica).group)
        return sorted(ended, key=lambda end: (end.signal_name is None, end.replica))

    def _report_lines(self, *, final: bool = False) -> None:
        for replica, follower in self._followers.items():
            for line in follower.lines(final=final):
                self._listener(LogLine(replica, line))


def _how(failed: Exit) -> str:
    if failed.code == CANNOT_START:
        return f"the command of replica {failed.replica} could not be started"
    return f"replica {failed.replica} ended with {failed.text}"


def _end(attempt: _Attempt, logs: Path, restarts: int, seconds: float, timeout: float) -> JobEnd:
    again = f" after {restarts} restart{'s' if restarts > 1 else ''}" if restarts else ""
    if attempt.state is JobState.SUCCEEDED:
        return JobEnd(attempt.state, f"The primary replica ended well{again}.", restarts, seconds)
    if attempt.state is JobState.CANCELLED:
        return JobEnd(attempt.state, "The job was cancelled.", restarts, seconds)
    if attempt.failed is None:
        verdict = f"The job ran longer than its timeout of {timeout:g} seconds."
        return JobEnd(attempt.state, verdict, restarts, seconds)
    how = _how(attempt.failed)
    tail = last_lines(log_path(logs, attempt.failed.replica), TAIL_LINES)
    return JobEnd(attempt.state, f"{how[0].upper()}{how[1:]}{again}.", restarts, seconds, attempt.failed, tail)
