"""`overnight report`: one HTML file that shows a run."""

from typing import Annotated

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, console, environment


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    run_id: Annotated[str, typer.Argument(help="The run to show.")],
    config: ConfigOption = DEFAULT_CONFIG,
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write report.html into the run's folder: verdict, classes, curves, data, time, audit; readable offline."""
    from overnight.report.page import write_report

    path = write_report(environment(config), run_id)
    console.print(str(path), markup=False)
    if open_:
        typer.launch(path.as_uri())
