"""`overnight lineage`: what made a model, and which model was in charge on a day."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, JsonOption, console, environment, print_json
from overnight.errors import OvernightError

TargetArgument = Annotated[
    str, typer.Argument(metavar="TARGET", help="A run id, MODEL:VERSION, or MODEL for its champion.")
]
DeepOption = Annotated[bool, typer.Option("--deep", help="Read every tar again, not only its size.")]
DayArgument = Annotated[str, typer.Argument(metavar="DAY", help="A day, such as 2026-03-03.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="The model; not needed where there is only one.")]


def register(app: typer.Typer) -> None:
    """Add the commands `lineage show` and `lineage at`."""
    group = typer.Typer(help="What made a model, and which model was in charge on a day.", no_args_is_help=True)
    group.command("show")(show)
    group.command("at")(at)
    app.add_typer(group, name="lineage")


def show(
    target: TargetArgument, config: ConfigOption = DEFAULT_CONFIG, deep: DeepOption = False, json: JsonOption = False
) -> None:
    """Follow a model or a run back to every input, and say which is missing or altered (exit code 2)."""
    from overnight.lineage.find import explain
    from overnight.lineage.render import tree_of
    from overnight.lineage.tree import all_problems, to_plain

    node = explain(environment(config), target, Path.cwd(), deep)
    if json:
        print_json(to_plain(node))
    else:
        console.print(tree_of(node), soft_wrap=False)
    problems = list(all_problems(node))
    if problems:
        raise OvernightError(" ".join(problems))


def at(
    day: DayArgument, config: ConfigOption = DEFAULT_CONFIG, model: ModelOption = None, json: JsonOption = False
) -> None:
    """Say which model version was champion at the end of a day (UTC), and exactly what made it."""
    from overnight.lineage.at import answer, champion_on
    from overnight.lineage.render import answer_lines

    found = answer(champion_on(environment(config).models_path, _day(day), model))
    if json:
        print_json(found)
        return
    for line in answer_lines(found):
        console.print(line)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise OvernightError(f"{text!r} is not a day", where="DAY", remedy="write it like 2026-03-03") from None
