"""`overnight run`: one job spec, run on this machine from its snapshot to its record."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import (
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    NowOption,
    console,
    environment,
    moment,
    print_json,
    progress_console,
)

if TYPE_CHECKING:
    from overnight.jobs.local_run import FinishedRun

SpecArgument = Annotated[Path, typer.Argument(metavar="SPEC", help="A job spec, such as jobs/local.yaml.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the message that would be run, and stop.")]
ResumeOption = Annotated[
    str | None, typer.Option("--resume", metavar="RUN_ID", help="Go on with a run that was interrupted or failed.")
]
ContainersOption = Annotated[
    bool, typer.Option("--containers", help="Run each replica in the image that its pool names, with podman.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Show every line of every replica.")]


def register(app: typer.Typer) -> None:
    """Add the command `run`."""
    app.command("run")(run)


def run(
    spec: SpecArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    now: NowOption = None,
    dry_run: DryRunOption = False,
    resume: ResumeOption = None,
    containers: ContainersOption = False,
    verbose: VerboseOption = False,
    json: JsonOption = False,
) -> None:
    """Run a job spec on this machine: each replica of its Vertex AI CustomJob is a process, or a container.

    Exit code 0 when the job succeeded, 2 when not, 130 when it was interrupted.
    """
    from overnight.jobs import local_run
    from overnight.jobs.containers import in_containers
    from overnight.jobs.spec import load
    from overnight.vertex_local.cancel import cancel_on_signals
    from overnight.vertex_local.command import container_command
    from overnight.vertex_local.container import Containers
    from overnight.vertex_local.messages import to_json
    from overnight.vertex_local.view import compact_view, verbose_view

    place = environment(config)
    job = load(spec)
    checked = Containers((), {}) if containers else container_command
    if resume:
        resolved = local_run.prepare_again(job, place, resume)
    else:
        resolved = local_run.prepare(job, place, moment(now), checked)
    if dry_run:
        print_json(to_json(resolved.custom_job))
        return
    go = local_run.resume if resume else local_run.start
    view = verbose_view if verbose else compact_view
    progress_console.print(f"Run {resolved.run_id} in {resolved.folder}", soft_wrap=True)
    started = in_containers(resolved, place.root_path) if containers else contextlib.nullcontext(container_command)
    with started as starter, view(progress_console) as listener, cancel_on_signals() as cancels:
        finished = go(resolved, job, place, listener, cancels, starter)
    _report(finished, spec, json)


def _report(finished: FinishedRun, spec: Path, json: bool) -> None:
    from overnight.jobs.errors import RunCancelled, RunFailed
    from overnight.vertex_local.job import JobState

    if json:
        print_json(finished.record)
    again = f"go on with `overnight run {spec} --resume {finished.run_id}`"
    if finished.end.state is JobState.CANCELLED:
        raise RunCancelled(finished.end.verdict.rstrip("."), remedy=again)
    if finished.end.state is JobState.FAILED:
        for line in finished.end.log_tail:
            progress_console.print(f"{finished.end.failed and finished.end.failed.replica} | {line}", markup=False)
        remedy = "correct it and start a new run" if finished.end.needs_the_user else again
        raise RunFailed(finished.end.verdict.rstrip("."), where=str(finished.folder / "logs"), remedy=remedy)
    if not json:
        metrics = finished.record["metrics"]
        accuracy = f", validation accuracy {metrics['accuracy']:.4f}" if metrics["accuracy"] is not None else ""
        console.print(f"Run {finished.run_id} succeeded in {finished.end.seconds:.0f} s{accuracy}", markup=False)
        console.print(str(finished.folder), markup=False)
