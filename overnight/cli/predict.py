"""`overnight predict`: ask a model about images."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, console, environment, progress_console

if TYPE_CHECKING:
    from overnight.models.predict import Answer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict")(predict)


def predict(
    model: Annotated[str, typer.Argument(help="NAME (its champion), NAME:VERSION, a run id or a model's folder.")],
    images: Annotated[list[Path], typer.Argument(metavar="IMAGE…", help="JPEG files.", show_default=False)],
    top: Annotated[int, typer.Option("--top", min=1, help="How many classes to show.")] = 3,
    config: ConfigOption = DEFAULT_CONFIG,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON line an image.")] = False,
) -> None:
    """Predict with the very preprocessing that the model was evaluated with (exit 2 when an image is unusable)."""
    from overnight.models.predict import predict as ask
    from overnight.models.resolve import model_folder

    folder = model_folder(environment(config), model)
    with progress_console.status("predicting"):
        answers = list(ask(folder, images, top))
    if json_:
        for answer in answers:
            typer.echo(json.dumps(_record(answer), ensure_ascii=False, sort_keys=True))
    else:
        _print(answers, top)
    if any(answer.error for answer in answers):
        raise typer.Exit(2)


def _record(answer: "Answer") -> dict[str, object]:
    """One JSON line: the best class by name, then what stands in the answer."""
    label, confidence = answer.top[0] if answer.top else (None, None)
    return {"label": label, "confidence": confidence, **asdict(answer)}


def _print(answers: "list[Answer]", top: int) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("image", overflow="fold")
    table.add_column("answer")
    table.add_column("sure", justify="right")
    if top > 1:
        table.add_column("then")
    for answer in answers:
        if answer.error:
            table.add_row(escape(answer.path), f"unusable: {answer.error}", "", *([""] if top > 1 else []))
            continue
        (label, probability), *others = answer.top
        then = ", ".join(f"{name} {100 * share:.1f} %" for name, share in others)
        cells = [answer.path, label, f"{100 * probability:.1f} %", *([then] if top > 1 else [])]
        table.add_row(*(escape(cell) for cell in cells))
    console.print(table)
