"""`overnight job render`, `submit` and `preflight`: from a checked spec to a running job."""

from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from overnight.cli.context import (
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    NowOption,
    console,
    environment,
    print_json,
    progress_console,
)
from overnight.cli.job_options import (
    CapacityOption,
    EndpointOption,
    RunIdOption,
    SnapshotOption,
    SpecArgument,
    TensorboardOption,
    clock,
    plan_of,
    service,
)

if TYPE_CHECKING:
    from overnight.jobs.preflight import Need, ServiceUsage
    from overnight.jobs.submission import Submission

PIPE_COLUMNS = 200
"""Where there is no terminal to fit into."""
AttemptOption = Annotated[
    int, typer.Option("--attempt", min=0, help="0: the job as the spec has it; n: with the nth fallback.")
]
AddedOption = Annotated[bool, typer.Option("--added", help="Print only what the spec does not say, a line a field.")]
LimitsOption = Annotated[
    bool, typer.Option("--limits", help="Read the project's limits from Service Usage; needs credentials.")
]


def register(group: typer.Typer) -> None:
    """Add the commands to `overnight job`."""
    group.command("render")(render)
    group.command("preflight")(preflight)
    group.command("submit")(submit)


def render(
    spec: SpecArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    run_id: RunIdOption = None,
    snapshot: SnapshotOption = None,
    tensorboard: TensorboardOption = None,
    attempt: AttemptOption = 0,
    only_added: AddedOption = False,
    now: NowOption = None,
) -> None:
    """Print the request that `submit` would send, byte for byte; nothing is sent.

    What was filled in goes to standard error.
    """
    from overnight.errors import OvernightError
    from overnight.jobs.added import added
    from overnight.jobs.document import load_document

    plan = plan_of(spec, config, now, run_id, snapshot, tensorboard)
    if attempt >= len(plan.requests):
        raise OvernightError(
            f"the spec has {len(plan.requests) - 1} fallbacks", where="--attempt", remedy="give a smaller number"
        )
    for note in plan.notes:
        progress_console.print(note, markup=False, soft_wrap=True)
    if only_added:
        typer.echo("\n".join(added(load_document(spec), plan.requests[attempt])))
    else:
        typer.echo(plan.requests[attempt].text.decode(), nl=False)


def preflight(
    spec: SpecArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    snapshot: SnapshotOption = None,
    limits: LimitsOption = False,
    now: NowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which quotas a job and its fallbacks need, and what else nobody says before the job is sent.

    Exit code 2 when a limit is known to be too small.
    """
    from overnight.jobs import preflight as pre

    surroundings = environment(config)
    # Quotas do not depend on the snapshot, and none need be here.
    plan = plan_of(spec, config, now, None, snapshot or "20000101-000000000000", None)
    project = surroundings.google.project_id if surroundings.google else ""
    found = pre.needs(plan, _service_usage(project) if limits else pre.unknown)
    if as_json:
        print_json({"needs": [_need(need) for need in found], "reminders": pre.reminders(plan, project)})
    else:
        wide = console if console.is_terminal else Console(highlight=False, width=PIPE_COLUMNS)
        wide.print(_needs_table(found))
        for reminder in pre.reminders(plan, project):
            console.print(reminder, markup=False)
    if pre.too_little(found):
        raise typer.Exit(2)


def submit(
    spec: SpecArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    run_id: RunIdOption = None,
    snapshot: SnapshotOption = None,
    tensorboard: TensorboardOption = None,
    endpoint: EndpointOption = None,
    capacity_retries: CapacityOption = 6,
    now: NowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start a job on Vertex AI, once: a second call with the same --run-id finds the first one's job.

    Where there are no machines, the spec's fallbacks are tried in their order. What is configured wrongly is not
    tried again. The record is runs/RUN_ID/submission.json.
    """
    from overnight.files import locked
    from overnight.jobs.fallback import Budgets
    from overnight.jobs.submission import submission_json
    from overnight.jobs.submission import submit as send

    plan = plan_of(spec, config, now, run_id, snapshot, tensorboard)
    for note in plan.notes:
        progress_console.print(note, markup=False, soft_wrap=True)
    folder = environment(config).runs_path / plan.run_id
    with locked(folder, "submission"):
        submission = send(plan, service(endpoint), folder, clock, sleep, Budgets(capacity=capacity_retries))
    if as_json:
        print_json(submission_json(submission))
    else:
        _tell(submission, folder, config, endpoint)


def _tell(submission: "Submission", folder: Path, config: Path, endpoint: str | None) -> None:
    for number, item in enumerate(submission.tries, start=1):
        where = submission.requests[item.fallback].region
        what = f"fallback {item.fallback}" if item.fallback else "the spec's own machines"
        end = f": {item.said}" if item.said else ""
        progress_console.print(f"Start {number}, {what}, {where}{end}", markup=False, soft_wrap=True)
    console.print(submission.job, markup=False)
    options = "" if config == DEFAULT_CONFIG else f" --config {config}"
    options += f" --endpoint {endpoint}" if endpoint else ""
    console.print(f"Watch it: overnight job watch {submission.run_id}{options}", markup=False)
    console.print(f"Record: {folder / 'submission.json'}", markup=False)


def _service_usage(project: str) -> "ServiceUsage":
    from overnight.jobs.endpoint import authorized_session
    from overnight.jobs.preflight import ServiceUsage

    return ServiceUsage(authorized_session("https://www.googleapis.com/auth/cloud-platform.read-only"), project)


def _needs_table(found: list["Need"]) -> Table:
    table = Table("start", "region", "metric", "needed", "limit", "verdict")
    for need in found:
        start = f"fallback {need.fallback}" if need.fallback else "first"
        limit = "" if need.limit is None else f"{need.limit:,}"
        table.add_row(start, need.region, need.quota.metric, f"{need.quota.amount:,}", limit, need.verdict)
    return table


def _need(need: "Need") -> dict[str, object]:
    return {
        "fallback": need.fallback,
        "region": need.region,
        "metric": need.quota.metric,
        "needed": need.quota.amount,
        "note": need.quota.note,
        "limit": need.limit,
        "verdict": need.verdict,
    }
