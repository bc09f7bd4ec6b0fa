"""The job process's side of what it shares with the server: events and log entries out, orders in, time."""

import time
from collections.abc import Callable

from overnight.vertex_local.engine.events import Event, Kind, append_line
from overnight.vertex_local.engine.folder import JobFolder
from overnight.vertex_local.engine.log_entries import SERVICE, write_entry
from overnight.vertex_local.engine.orders import Order, Orders
from overnight.vertex_local.engine.plan import Plan
from overnight.vertex_local.job import JobState


class Reporter:
    """Of one launch."""

    def __init__(self, folder: JobFolder, plan: Plan, signals: Callable[[], int]) -> None:
        """`signals` counts the signals that ask this process to end, as a machine that shuts down sends them."""
        self.folder = folder
        self._signals = signals
        self._plan = plan
        self._orders = Orders(folder.orders(plan.launch))
        self._running_since: float | None = None

    def event(
        self, kind: Kind, *, state: JobState | None = None, replica: str = "", code: int = 0, detail: str = ""
    ) -> None:
        """Add an event."""
        event = Event(
            kind=kind,
            time=time.time(),
            launch=self._plan.launch,
            state=state,
            replica=replica,
            code=code,
            detail=detail,
        )
        append_line(self.folder.events, event.line())

    def state(self, state: JobState, detail: str = "") -> None:
        """Tell that the job has reached a state. The clocks begin with the first RUNNING."""
        if state is JobState.RUNNING and self._running_since is None:
            self._running_since = time.monotonic()
        self.event(Kind.STATE, state=state, detail=detail)

    def say(self, severity: str, message: str) -> None:
        """Add an entry of the service to the job's log."""
        write_entry(self.folder.log, severity, SERVICE, message)

    def order(self) -> Order | None:
        """The strongest order given, or the preemption that the plan foresees."""
        after = self._plan.preempt_after
        foreseen = Order.PREEMPT if after is not None and self._seconds() > after else None
        return self._orders.strongest() or (Order.STOP if self._signals() else foreseen)

    def out_of_time(self) -> bool:
        """Whether the job has been running for longer than its timeout."""
        return self._seconds() > self._plan.timeout

    def _seconds(self) -> float:
        return 0.0 if self._running_since is None else time.monotonic() - self._running_since
