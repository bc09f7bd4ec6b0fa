"""`overnight build`: judge Cloud Build files before anything is pushed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, JsonOption, environment, print_json
from overnight.cli.findings import Row, print_findings
from overnight.wording import counted

if TYPE_CHECKING:
    from overnight.builds.check import Report

PlacesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILE_OR_FOLDER…", help="Build files, and folders with *.yaml files.")
]


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(
        no_args_is_help=True, help="Check Cloud Build files against the service's rules and the house's."
    )
    group.command("check")(check)
    group.command("rules")(rules)
    app.add_typer(group, name="build")


def check(places: PlacesArgument, config: ConfigOption = DEFAULT_CONFIG, as_json: JsonOption = False) -> None:
    """Say everything that is wrong with build files, offline: nothing is asked of the cloud.

    Values that a trigger passes are taken from the environment file when one is named, and made up otherwise.
    Exit code 0 when there is no error, 2 when there is one.
    """
    from overnight.builds.check import check_file, files_in
    from overnight.builds.given import of_environment

    named = config != DEFAULT_CONFIG or config.exists()
    given = of_environment(environment(config)) if named else None
    reports = [check_file(path, given) for path in files_in(places)]
    errors = sum(finding.severity == "error" for report in reports for finding in report.findings)
    warnings = sum(len(report.findings) for report in reports) - errors
    if as_json:
        print_json({"errors": errors, "warnings": warnings, "builds": [_facts(report) for report in reports]})
    else:
        said = f"{counted(errors, 'error', 'errors')}, {counted(warnings, 'warning', 'warnings')}"
        checked = counted(len(reports), "build file", "build files")
        print_findings([row for report in reports for row in _rows(report)], f"{checked} checked: {said}.")
    if errors:
        raise typer.Exit(2)


def rules() -> None:
    """Print every rule as a Markdown table, as it stands in docs/builds.md."""
    from overnight.builds.rules.table import rules_table

    typer.echo(rules_table())


def _rows(report: "Report") -> list[Row]:
    return [Row(report.path, report.line(finding), finding) for finding in report.findings]


def _facts(report: "Report") -> dict[str, Any]:
    return {"path": str(report.path), "findings": [row.facts() for row in _rows(report)]}
