"""`overnight job`: check job specs before anything is sent; job_submit.py and job_watch.py send and watch."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from overnight.cli import job_submit, job_watch
from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, JsonOption, NowOption, environment, moment, print_json
from overnight.cli.findings import Row, findings_table, results_console
from overnight.wording import counted

if TYPE_CHECKING:
    from overnight.jobs.check import Report
    from overnight.jobs.context import Context

PlacesArgument = Annotated[
    list[Path], typer.Argument(metavar="FILE_OR_FOLDER…", help="Job specs, and folders with *.yaml files.")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with 2 for warnings too.")]


def register(app: typer.Typer) -> None:
    """Add the verb group."""
    group = typer.Typer(
        no_args_is_help=True, help="Check job specs, send them to Vertex AI, watch what becomes of them."
    )
    group.command("check")(check)
    group.command("rules")(rules)
    job_submit.register(group)
    job_watch.register(group)
    app.add_typer(group, name="job")


def check(
    places: PlacesArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    now: NowOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say everything that is wrong with job specs, offline: nothing is asked of the cloud.

    Exit code 0 when there is no error, 2 when there is one; with --strict also for warnings.
    """
    from overnight.jobs.check import check_file, specs_in

    context = _context(config, now)
    reports = [check_file(path, context) for path in specs_in(places)]
    errors, warnings = sum(report.errors for report in reports), sum(report.warnings for report in reports)
    if as_json:
        print_json({"errors": errors, "warnings": warnings, "specs": [_facts(report) for report in reports]})
    else:
        _show(reports, errors, warnings)
    if errors or (strict and warnings):
        raise typer.Exit(2)


def rules() -> None:
    """Print every rule as a Markdown table, as it stands in docs/job-rules.md."""
    from overnight.jobs.rules.table import rules_table

    typer.echo(rules_table())


def _context(config: Path, now: str | None) -> "Context":
    """What the environment says; without its file, if none was named, only the day is known."""
    from overnight.jobs.context import context_of

    place = None if config == DEFAULT_CONFIG and not config.exists() else environment(config)
    return context_of(place, moment(now).date())


def _show(reports: list["Report"], errors: int, warnings: int) -> None:
    console = results_console()
    if errors or warnings:
        console.print(findings_table([row for report in reports for row in _rows(report)]))
    for report in reports:
        for quota in report.quotas:
            note = f" ({quota.note})" if quota.note else ""
            region = report.region or "the job's region"
            console.print(
                f"{report.path} needs {quota.amount:,} of {quota.metric} in {region}{note}.",
                markup=False,
                soft_wrap=True,
            )
    local = sum(not report.for_the_cloud and report.document is not None for report in reports)
    here = f", {local:,} for this machine only" if local else ""
    console.print(
        f"{counted(len(reports), 'spec', 'specs')} checked{here}: "
        f"{counted(errors, 'error', 'errors')}, {counted(warnings, 'warning', 'warnings')}.",
        soft_wrap=True,
    )


def _rows(report: "Report") -> list[Row]:
    return [Row(report.path, report.line(finding), finding) for finding in report.findings]


def _facts(report: "Report") -> dict[str, Any]:
    return {
        "path": str(report.path),
        "for_the_cloud": report.for_the_cloud,
        "region": report.region,
        "findings": [row.facts() for row in _rows(report)],
        "quotas": [{"metric": quota.metric, "amount": quota.amount, "note": quota.note} for quota in report.quotas],
    }
