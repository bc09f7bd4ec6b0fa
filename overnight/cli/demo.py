"""`overnight demo`: three weeks of retraining on real pictures."""

from pathlib import Path
from typing import Annotated

import typer

from overnight.cli.context import console


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("demo")(demo)


def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where the demo plays; made anew each time.")] = Path("demo"),
) -> None:
    """Play three weeks: a first model, corrected labels and a second one, a bad export that is rejected."""
    from overnight.demo.play import play

    play(folder, console)
