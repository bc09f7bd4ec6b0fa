"""`overnight image inspect`: what an image archive holds, held against a budget."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overnight.cli.context import JsonOption, console, print_json

if TYPE_CHECKING:
    from overnight.images.budget import Flaw
    from overnight.images.contents import Contents

ArchiveArgument = Annotated[
    Path, typer.Argument(metavar="ARCHIVE", help="What docker save or podman save wrote, or an OCI archive.")
]
BudgetOption = Annotated[
    Path | None, typer.Option("--budget", metavar="FILE", help="What it may hold, such as images/steps/budget.yaml.")
]


def add(group: typer.Typer) -> None:
    """Add the command."""
    group.command("inspect")(inspect)


def inspect(archive: ArchiveArgument, budget: BudgetOption = None, as_json: JsonOption = False) -> None:
    """Print an image's layers and sizes; with a budget, exit with 3 when it holds too much, or what it must not."""
    from overnight.images.budget import examine, read_budget
    from overnight.images.contents import read_contents

    allowed = read_budget(budget) if budget else None
    contents = read_contents(archive)
    flaws = examine(contents, allowed) if allowed else []
    if as_json:
        print_json(_as_json(contents, flaws))
    else:
        _print(contents)
        for flaw in flaws:
            typer.echo(f"{archive}: {flaw.sentence}", err=True)
    if flaws:
        raise typer.Exit(3)


def _print(contents: "Contents") -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("layer", "MB", "files", "", "most of it", box=None, pad_edge=False)
    for column in (1, 2):
        table.columns[column].justify = "right"
    for place, layer in enumerate(contents.layers):
        most = ", ".join(f"/{folder} {_megabytes(size)}" for folder, size in layer.largest() if size)
        ours = "ours" if contents.own is not None and place >= contents.own else "base"
        table.add_row(layer.digest[7:19], _megabytes(layer.size), f"{layer.files:,}", ours, escape(most))
    table.add_row("all", _megabytes(contents.size), f"{sum(layer.files for layer in contents.layers):,}", "", "")
    console.print(table)


def _megabytes(size: int) -> str:
    return f"{size / 1_000_000:,.1f}"


def _as_json(contents: "Contents", flaws: "list[Flaw]") -> dict[str, Any]:
    layers = [
        {
            "digest": layer.digest,
            "size": layer.size,
            "files": layer.files,
            "ours": contents.own is not None and place >= contents.own,
            "largest": [{"folder": folder, "size": size} for folder, size in layer.largest()],
        }
        for place, layer in enumerate(contents.layers)
    ]
    findings = [{"rule": flaw.name, "sentence": flaw.sentence} for flaw in flaws]
    run = {name.lower(): contents.run(name) for name in ("User", "Entrypoint", "Labels", "Env")}
    return {"size": contents.size, "layers": layers, "findings": findings, **run}
