"""What the commands that send job specs share: options, the plan, the service."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import DEFAULT_CONFIG, environment, moment
from overnight.config import Environment
from overnight.errors import OvernightError

if TYPE_CHECKING:
    from overnight.jobs.client import Jobs
    from overnight.jobs.job_logs import Logs
    from overnight.jobs.plan import Plan

SpecArgument = Annotated[Path, typer.Argument(metavar="SPEC", help="A job spec, such as jobs/weekly-a100-spot.yaml.")]
JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="A run id, or projects/PROJECT/locations/REGION/customJobs/ID.")
]
RunIdOption = Annotated[
    str | None,
    typer.Option("--run-id", help="The run to submit, or to submit again. Default: made of the time and the content."),
]
SnapshotOption = Annotated[
    str | None,
    typer.Option("--snapshot", help="Train on this snapshot, whatever the spec says; it is not looked for here."),
]
TensorboardOption = Annotated[
    str | None,
    typer.Option(
        "--tensorboard",
        envvar="OVERNIGHT_TENSORBOARD",
        help="Full name of the TensorBoard for jobs that name none: output `tensorboard` of the stack training.",
    ),
]
EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        envvar="OVERNIGHT_VERTEX_ENDPOINT",
        help="HOST:PORT (gRPC) or http://127.0.0.1:PORT (REST). Default: Google's, of the job's region.",
    ),
]
CapacityOption = Annotated[
    int, typer.Option("--capacity-retries", min=0, help="Starts because machines were missing or lost.")
]
CodeOption = Annotated[int, typer.Option("--code-retries", min=0, help="Starts because the program failed.")]
LinesOption = Annotated[int, typer.Option("--lines", min=0, help="How many of the last log lines.")]


def plan_of(
    spec: Path, config: Path, now: str | None, run_id: str | None, snapshot: str | None, tensorboard: str | None
) -> "Plan":
    """The plan of a spec in the environment `config`."""
    from overnight.jobs.context import context_of
    from overnight.jobs.document import load_document
    from overnight.jobs.inputs import find_inputs
    from overnight.jobs.place import place_of
    from overnight.jobs.plan import make_plan, snapshot_named

    surroundings = environment(config)
    time = moment(now)

    def latest(name: str) -> str:
        return find_inputs(surroundings, name).snapshot.name

    finder = snapshot_named(snapshot) if snapshot else latest
    place = place_of(surroundings, tensorboard)
    return make_plan(load_document(spec), place, context_of(surroundings, time.date()), finder, time, run_id)


def service(endpoint: str | None) -> "Jobs":
    """The job service at an endpoint."""
    from overnight.jobs.client import VertexJobs
    from overnight.jobs.endpoint import parse_endpoint

    return VertexJobs(parse_endpoint(endpoint))


def logs(endpoint: str | None, job: str, surroundings: Environment | None) -> "Logs":
    """The logs beside an endpoint, of the environment's project or else of the one in the job's name."""
    from overnight.jobs.endpoint import parse_endpoint
    from overnight.jobs.job_logs import logs_of

    google = surroundings.google if surroundings else None
    return logs_of(parse_endpoint(endpoint), google.project_id if google else job.split("/")[1])


def clock() -> datetime:
    """The time of now, UTC."""
    return datetime.now(UTC)


def known_environment(config: Path) -> Environment | None:
    """The environment, or None when its file was not named and is not there."""
    return None if config == DEFAULT_CONFIG and not config.exists() else environment(config)


def run_folder(job: str, surroundings: Environment | None) -> Path | None:
    """The folder of a run that was submitted from here; None for a job's full name. Raises OvernightError."""
    from overnight.jobs.submission import NAME
    from overnight.lineage.record import RUN_ID

    if not RUN_ID.fullmatch(job):
        return None
    folder = surroundings.runs_path / job if surroundings else Path(job)
    if not (folder / NAME).is_file():
        raise OvernightError(
            f"run {job} was not submitted from here",
            where=str(folder),
            remedy="give the environment it was submitted with by --config, or the job's full name",
        )
    return folder


def job_name(job: str, surroundings: Environment | None) -> str:
    """The full name of a job or of a run's last job; raises OvernightError."""
    from overnight.jobs.client import parts
    from overnight.jobs.submission import read_submission

    folder = run_folder(job, surroundings)
    if folder is None:
        parts(job)
        return job
    name = read_submission(folder).job
    if name is None:
        raise OvernightError(f"nothing of run {job} was started", where=str(folder), remedy="submit it again")
    return name
