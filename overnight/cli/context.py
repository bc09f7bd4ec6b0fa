"""What every command shares: the environment option, the clock option, output."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from overnight.config import Environment, load
from overnight.errors import OvernightError

ConfigOption = Annotated[
    Path,
    typer.Option("--config", envvar="OVERNIGHT_CONFIG", help="The environment file.", show_default=True),
]
NowOption = Annotated[
    str | None,
    typer.Option(
        "--now", envvar="OVERNIGHT_NOW", help="The time to work with, such as 2026-03-03T02:00:00Z. Default: the clock."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a machine to read.")]

DEFAULT_CONFIG = Path("config/local.yaml")

console = Console(highlight=False, soft_wrap=True)
"""Results go here (standard output)."""
progress_console = Console(stderr=True, highlight=False)
"""Progress and notes go here (standard error)."""


def environment(config: Path) -> Environment:
    """The environment a command works in."""
    return load(config)


def moment(now: str | None) -> datetime:
    """`--now` as a UTC time to the second; the clock's when it was not given. Raises OvernightError."""
    if now is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        value = datetime.fromisoformat(now)
    except ValueError:
        raise OvernightError(
            f"{now!r} is not a time", where="--now", remedy="write it like 2026-03-03T02:00:00Z"
        ) from None
    return (value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)).replace(microsecond=0)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))
