"""What `overnight job watch` shows: a line for every state, the log's lines, and one line that moves."""

from collections import deque
from typing import TYPE_CHECKING

from rich.status import Status

from overnight.cli.context import console, progress_console
from overnight.wording import duration

if TYPE_CHECKING:
    from types import TracebackType

    from overnight.jobs.cost import Price
    from overnight.jobs.watching import Look


class WatchView:
    """A context manager; `report` takes every look."""

    def __init__(self, price: "Price | None", lines: int) -> None:
        """`lines`: how many log lines of one look are shown, the last ones."""
        self._price = price
        self._lines = lines
        self._job = ""
        self._status: Status | None = None
        self.tail: deque[str] = deque(maxlen=200)
        """The last lines of the log, for explaining how it ended."""

    def __enter__(self) -> "WatchView":
        """Begin."""
        if progress_console.is_terminal:
            self._status = progress_console.status("…")
            self._status.start()
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", error: BaseException | None, at: "TracebackType | None"
    ) -> None:
        """End the moving line."""
        if self._status is not None:
            self._status.stop()

    def report(self, look: "Look") -> None:
        """Show one look."""
        if look.job.name != self._job:
            self._job = look.job.name
            self.tail.clear()
            console.print(look.job.name, markup=False)
        if look.changed and not look.job.over:
            self._state(look)
        self.tail.extend(line.text for line in look.lines)
        for line in look.lines[-self._lines :] if self._lines else ():
            console.print(f"  {line.replica} | {line.text}", markup=False)
        if self._status is not None:
            self._status.update(f"{look.job.state}{progress(look, self._price)}")
        if look.job.over:
            self._state(look)
            console.print(f"{look.job.state}{progress(look, self._price)}", markup=False)

    def note(self, sentence: str) -> None:
        """Say something that is not of the job."""
        progress_console.print(sentence, markup=False, soft_wrap=True)

    def _state(self, look: "Look") -> None:
        console.print(f"{look.since:%Y-%m-%d %H:%M:%S} {look.job.state}{self._took(look)}", markup=False)

    def _took(self, look: "Look") -> str:
        """How long it waited, once it runs."""
        job = look.job
        if job.state == "RUNNING" and job.created and job.started:
            return f" after {duration(max(0.0, (job.started - job.created).total_seconds()))}"
        return ""


def progress(look: "Look", price: "Price | None") -> str:
    """` for 12 min 03 s, 3 of 40 trials ended, about 1.23 US dollars (prices of …)`."""
    from overnight.jobs.cost import cost

    job, found = look.job, ""
    since = job.started or job.created
    if since is not None:
        found = f" for {duration(max(0.0, ((job.ended or look.now) - since).total_seconds()))}"
    if job.trials:
        ended = sum(state in ("SUCCEEDED", "INFEASIBLE") for state in job.trials)
        found += f", {ended} of {len(job.trials)} trials so far ended"
    if price is not None:
        found += f", about {cost(job, price, look.now):,.2f} US dollars ({price.label})"
    return found
