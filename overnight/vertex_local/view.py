"""What a person sees of a running job: states, the primary's last line, or every line with its replica's name."""

import contextlib
import json
from collections.abc import Iterator

from rich.console import Console
from rich.status import Status
from rich.text import Text

from overnight.vertex_local.cluster import PRIMARY
from overnight.vertex_local.job import JobState, Listener, LogLine, StateChanged

_LONGEST = 200


@contextlib.contextmanager
def verbose_view(console: Console) -> Iterator[Listener]:
    """Every line of every replica, prefixed by the replica's name, and each state."""

    def show(event: StateChanged | LogLine) -> None:
        if isinstance(event, LogLine):
            console.print(Text(f"{event.replica} | {event.text}"), soft_wrap=True)
        else:
            _print_state(console, event)

    yield show


@contextlib.contextmanager
def compact_view(console: Console) -> Iterator[Listener]:
    """Each state on a line; on a terminal also the primary's last line, always in the same place."""
    status = Status(Text("starting"), console=console)
    state = JobState.QUEUED

    def show(event: StateChanged | LogLine) -> None:
        nonlocal state
        if isinstance(event, StateChanged):
            state = event.state
            _print_state(console, event)
        elif event.replica == PRIMARY and event.text.strip():
            status.update(Text.assemble((f"{state} ", "bold"), readable(event.text), no_wrap=True, overflow="ellipsis"))

    if not console.is_terminal:
        yield show
        return
    with status:
        yield show


def readable(line: str) -> str:
    """A log line for a person: the fields of a JSON object as `name value`, anything else as it is."""
    try:
        value = json.loads(line)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return line[:_LONGEST]
    parts = [f"{name} {_number(item)}" for name, item in value.items() if isinstance(item, str | int | float)]
    return "  ".join(parts)[:_LONGEST]


def _number(value: str | int | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_state(console: Console, event: StateChanged) -> None:
    # The end's verdict is told by whoever started the job.
    final = event.state in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
    detail = f": {event.detail}" if event.detail and not final else ""
    console.print(Text(f"{event.state}{detail}"), soft_wrap=True)
