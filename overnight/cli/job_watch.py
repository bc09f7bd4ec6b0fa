"""`overnight job watch`, `logs`, `cancel`, `list` and `explain`: what becomes of a submitted job."""

import sys
from collections import deque
from dataclasses import asdict
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, JsonOption, console, environment, print_json
from overnight.cli.job_options import (
    CapacityOption,
    CodeOption,
    EndpointOption,
    JobArgument,
    LinesOption,
    clock,
    job_name,
    known_environment,
    logs,
    run_folder,
    service,
)
from overnight.cli.job_view import WatchView
from overnight.errors import OvernightError

if TYPE_CHECKING:
    from overnight.jobs.client import Job, Jobs
    from overnight.jobs.cost import Price
    from overnight.jobs.job_logs import Logs
    from overnight.jobs.watching import Report

PIPE_COLUMNS = 200
"""Where there is no terminal to fit into."""
FollowOption = Annotated[
    bool, typer.Option("--follow-fallbacks", help="Start the next fallback when the job finds no machines.")
]
IntervalOption = Annotated[float, typer.Option("--interval", min=0.05, help="Seconds between two looks.")]
UsdOption = Annotated[
    float | None, typer.Option("--usd-per-hour", min=0, help="What an hour of the whole job costs, in US dollars.")
]
DayOption = Annotated[str | None, typer.Option("--prices-as-of", help="The day on which that price was read.")]
FeeOption = Annotated[
    bool | None,
    typer.Option("--fee-included/--fee-not-included", help="Whether Vertex AI's own fee is in that price."),
]
FilterOption = Annotated[
    str, typer.Option("--filter", help='As in the API: state="JOB_STATE_RUNNING", labels.overnight-run="…".')
]
RegionOption = Annotated[str | None, typer.Option("--region", help="Default: the environment's.")]


def register(group: typer.Typer) -> None:
    """Add the commands to `overnight job`."""
    group.command("watch")(watch)
    group.command("logs")(show_logs)
    group.command("cancel")(cancel)
    group.command("list")(list_)
    group.command("explain")(explain)


def watch(
    job: JobArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    endpoint: EndpointOption = None,
    follow_fallbacks: FollowOption = False,
    capacity_retries: CapacityOption = 6,
    code_retries: CodeOption = 0,
    interval: IntervalOption = 10.0,
    lines: LinesOption = 5,
    usd_per_hour: UsdOption = None,
    prices_as_of: DayOption = None,
    fee_included: FeeOption = None,
) -> None:
    """Follow a job to its end: states with their times, its last log lines, what it costs.

    Exit code 0 when it succeeded, 2 when it failed or expired, 3 when only a part of it succeeded, 130 when it was
    cancelled. Ctrl-C ends the watching, not the job.
    """
    from overnight.jobs.cost import Price
    from overnight.jobs.errors import RunCancelled
    from overnight.jobs.fallback import Budgets
    from overnight.jobs.job_logs import QuietLogs

    surroundings = known_environment(config)
    folder = run_folder(job, surroundings)
    again = follow_fallbacks or code_retries > 0
    if folder is None and again:
        raise OvernightError("fallbacks stand in a run's record", where=job, remedy="give the run id instead")
    name = job_name(job, surroundings)
    given = None if usd_per_hour is None else Price(usd_per_hour, prices_as_of, fee_included)
    view = WatchView(given or _price(folder, surroundings), lines)
    quiet = QuietLogs(logs(endpoint, name, surroundings), view.note)
    budgets = Budgets(capacity_retries if follow_fallbacks else 0, code_retries)
    try:
        with view:
            end = _follow(name, folder if again else None, budgets, service(endpoint), quiet, view.report, interval)
    except KeyboardInterrupt:
        raise RunCancelled(
            "watching has ended, the job goes on", remedy=f"end it by `overnight job cancel {job}`"
        ) from None
    _finish(end, view)


def show_logs(
    job: JobArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    endpoint: EndpointOption = None,
    lines: LinesOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Print what a job's replicas wrote; with --lines the last ones only."""
    surroundings = known_environment(config)
    name = job_name(job, surroundings)
    found = list(logs(endpoint, name, surroundings).new(service(endpoint).get(name)))
    found = found[-lines:] if lines else found
    if as_json:
        print_json([asdict(line) for line in found])
        return
    for line in found:
        typer.echo(f"{line.time} {line.replica} | {line.text}")


def cancel(job: JobArgument, config: ConfigOption = DEFAULT_CONFIG, endpoint: EndpointOption = None) -> None:
    """Ask a job to end; it is CANCELLED some moments later."""
    name = job_name(job, known_environment(config))
    jobs = service(endpoint)
    jobs.cancel(name)
    console.print(f"{name} is {jobs.get(name).state}", markup=False)


def list_(
    config: ConfigOption = DEFAULT_CONFIG,
    region: RegionOption = None,
    filter_: FilterOption = "",
    endpoint: EndpointOption = None,
    as_json: JsonOption = False,
) -> None:
    """List custom and tuning jobs of a region, newest first."""
    google = environment(config).google
    if google is None:
        raise OvernightError("this environment has no project", where=str(config), remedy="give another by --config")
    found = service(endpoint).all(f"projects/{google.project_id}/locations/{region or google.region}", filter_)
    if as_json:
        print_json([_facts(job) for job in found])
    else:
        wide = console if console.is_terminal else Console(highlight=False, width=PIPE_COLUMNS)
        wide.print(_table(found))


def explain(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What was said; - reads it from standard input.")],
    as_json: JsonOption = False,
) -> None:
    """Say what an error means and what to do. Exit code 2 when nobody has met it yet."""
    from overnight.jobs.explain import explain_all, quota_metrics

    said = sys.stdin.read() if text == "-" else text
    found = explain_all(said)
    if as_json:
        print_json({"known": [asdict(item) for item in found], "quota_metrics": quota_metrics(said)})
    for item in [] if as_json else found:
        console.print(f"{item.name} ({item.kind}): {item.sentence}", markup=False)
        console.print(f"  Source: {item.source}", markup=False)
    if not found:
        raise OvernightError("nobody has met this error yet", remedy="read the job's log by `overnight job logs`")


def _follow(
    name: str, folder: Path | None, budgets: Any, jobs: "Jobs", lines: "Logs", report: "Report", interval: float
) -> "Job":
    from overnight.jobs.submission import read_submission
    from overnight.jobs.watching import Run, watch_run
    from overnight.jobs.watching import watch as follow

    if folder is None:
        return follow(name, jobs, lines, clock, sleep, report, interval)
    run = Run(read_submission(folder), folder, budgets)
    return watch_run(run, jobs, lines, clock, sleep, report, interval)


def _price(folder: Path | None, surroundings: Any) -> "Price | None":
    from overnight.jobs.cost import price_in
    from overnight.jobs.submission import read_submission

    if folder is None:
        return None
    submission = read_submission(folder)
    request = submission.requests[submission.tries[-1].fallback] if submission.tries else submission.requests[0]
    # A study's trials come and go: an hour of it has no fixed price.
    return price_in(surroundings, request.job["jobSpec"]) if request.kind == "customJob" else None


def _finish(end: "Job", view: WatchView) -> None:
    from overnight.jobs.explain import explain_all
    from overnight.jobs.watching import EXIT_CODES

    if end.error:
        console.print(end.error, markup=False)
    tail: deque[str] = view.tail
    for item in explain_all("\n".join([end.error, *tail])) if end.state == "FAILED" else []:
        console.print(f"{item.name}: {item.sentence}", markup=False)
    code = EXIT_CODES.get(end.state, 2)
    if code:
        raise typer.Exit(code)


def _table(found: "list[Job]") -> Table:
    table = Table("job", "name", "state", "created", "run")
    for job in found:
        created = f"{job.created:%Y-%m-%d %H:%M}" if job.created else ""
        row = (job.id, job.display_name, job.state, created, job.labels.get("overnight-run", ""))
        table.add_row(*(escape(cell) for cell in row))
    return table


def _facts(job: "Job") -> dict[str, Any]:
    times = {name: value.isoformat() if value else None for name, value in _times(job).items()}
    return {
        "name": job.name,
        "kind": job.kind,
        "display_name": job.display_name,
        "state": job.state,
        "error": job.error,
        "labels": job.labels,
        **times,
    }


def _times(job: "Job") -> dict[str, Any]:
    return {"created": job.created, "started": job.started, "ended": job.ended}
