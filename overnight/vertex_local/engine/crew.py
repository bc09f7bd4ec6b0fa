"""The replicas of one attempt at a job: all started, watched, restarted in place, stopped together."""

import os
import shutil
import time
from dataclasses import dataclass
from enum import StrEnum

from overnight.vertex_local.cluster import PRIMARY, ReplicaName
from overnight.vertex_local.command import Command
from overnight.vertex_local.cores import core_shares
from overnight.vertex_local.engine.events import Kind
from overnight.vertex_local.engine.log_entries import LogPump
from overnight.vertex_local.engine.orders import Order
from overnight.vertex_local.engine.plan import Plan, with_addresses
from overnight.vertex_local.engine.reporter import Reporter
from overnight.vertex_local.engine.retries import Decision, decide
from overnight.vertex_local.guard import Guard
from overnight.vertex_local.job import JobState
from overnight.vertex_local.ports import free_addresses
from overnight.vertex_local.process import CANNOT_START, Exit, ReplicaProcess

POLL_SECONDS = 0.02


class Outcome(StrEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    RESTART = "restart"
    TIMED_OUT = "timed out"
    ORDERED = "ordered"


@dataclass(frozen=True)
class Attempt:
    """How an attempt ended: with a replica's bad end, or by an order."""

    outcome: Outcome
    failed: Exit | None = None
    order: Order | None = None


class Crew:
    """One attempt; `restarts` whole-job restarts came before it."""

    def __init__(self, plan: Plan, reporter: Reporter, guard: Guard, restarts: int) -> None:
        self._plan = plan
        self._reporter = reporter
        self._folder = reporter.folder
        self._guard = guard
        self._restarts = restarts
        self._commands = with_addresses(plan, free_addresses(plan.commands))
        self._cores = core_shares(plan.commands, sorted(os.sched_getaffinity(0)))
        self._in_place = dict.fromkeys(plan.commands, 0)
        self._running: dict[ReplicaName, ReplicaProcess] = {}
        self._pump = LogPump(self._folder, plan.commands)

    def work(self) -> Attempt:
        """Start all, watch until the attempt is decided, stop what still runs; leaves no process."""
        try:
            attempt = self._start_all() or self._watch()
            self._stop(self._plan.grace)
        finally:
            self._stop(0.0)
            self._pump.drain()
        return attempt

    def _start_all(self) -> Attempt | None:
        for replica in self._commands:
            shutil.rmtree(self._folder.working(replica), ignore_errors=True)
            self._folder.working(replica).mkdir(parents=True)
        for replica, command in self._commands.items():
            if (attempt := self._start(replica, command)) is not None:
                return attempt
        self._reporter.state(JobState.RUNNING)
        return None

    def _start(self, replica: ReplicaName, command: Command) -> Attempt | None:
        """Start a replica; a command that cannot be started counts as a bad end, also when tried again."""
        try:
            process = ReplicaProcess(
                replica,
                command,
                self._folder.output(replica),
                self._cores[replica],
                errors=self._folder.errors(replica),
                folder=self._folder.working(replica),
            )
        except OSError as error:
            with self._folder.errors(replica).open("a") as log:
                log.write(f"{command.arguments[0]}: cannot be started: {error.strerror}\n")
            return self._after_bad_end(Exit(replica, CANNOT_START))
        self._running[replica] = process
        self._guard.add(process.group)
        return None

    def _watch(self) -> Attempt:
        while True:
            self._pump.carry()
            ended = self._reap()
            if any(end.replica == PRIMARY and end.code == 0 for end in ended):
                return Attempt(Outcome.SUCCEEDED)
            if (order := self._reporter.order()) is not None:
                return Attempt(Outcome.ORDERED, order=order)
            for end in ended:
                if end.code != 0 and (attempt := self._after_bad_end(end)) is not None:
                    return attempt
            if self._reporter.out_of_time():
                return Attempt(Outcome.TIMED_OUT)
            time.sleep(POLL_SECONDS)

    def _after_bad_end(self, failed: Exit) -> Attempt | None:
        """Start the replica again, or tell how the attempt ends."""
        replica = failed.replica
        match decide(self._plan.policy, failed, self._in_place[replica], self._restarts):
            case Decision.FAIL:
                return Attempt(Outcome.FAILED, failed)
            case Decision.RESTART_JOB:
                return Attempt(Outcome.RESTART, failed)
            case Decision.RESTART_REPLICA:
                self._in_place[replica] += 1
                often = f"restart {self._in_place[replica]} of {self._plan.policy.in_place} in place"
                self._reporter.event(Kind.RESTART, replica=str(replica), detail=f"ended with {failed.text}; {often}")
                return self._start(replica, self._commands[replica])

    def _stop(self, grace_seconds: float) -> None:
        for process in self._running.values():
            process.terminate()
        deadline = time.monotonic() + grace_seconds
        while self._running and time.monotonic() < deadline:
            self._pump.carry()
            self._reap()
            time.sleep(POLL_SECONDS / 2)
        while self._running:
            for process in self._running.values():
                process.kill()
            self._reap()
            time.sleep(POLL_SECONDS / 2)

    def _reap(self) -> list[Exit]:
        """The replicas that ended since the last call; killed ones first, whose peers often fail because of it."""
        ended = [end for process in self._running.values() if (end := process.poll())]
        for end in ended:
            self._guard.remove(self._running.pop(end.replica).group)
            self._reporter.event(Kind.EXIT, replica=str(end.replica), code=end.code)
        return sorted(ended, key=lambda end: (end.signal_name is None, end.replica))
