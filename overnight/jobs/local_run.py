"""Run a job spec on this machine: folder, message, processes, record."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseError

from overnight.config import Environment
from overnight.errors import OvernightError
from overnight.files import locked, read_json, sha256_bytes, write_atomically
from overnight.jobs.errors import SpecError
from overnight.jobs.inputs import find_inputs
from overnight.jobs.resolve import ResolvedJob, inputs_of, resolve
from overnight.jobs.spec import JobSpec, spec_bytes
from overnight.lineage.record import RUN_ID, RunFacts, write_record
from overnight.vertex_local.cluster import JobIdentity
from overnight.vertex_local.command import container_command
from overnight.vertex_local.job import JobEnd, JobState, Listener
from overnight.vertex_local.messages import CustomJob, parse_custom_job
from overnight.vertex_local.runner import CancelRequests, Starter, check_starts, run_job

PROJECT_NUMBER = "0"
LOCATION = "local"


@dataclass(frozen=True)
class FinishedRun:
    """A run that has ended, well or not; its record stands in `folder`."""

    run_id: str
    folder: Path
    end: JobEnd
    record: dict[str, Any]


def prepare(
    spec: JobSpec, environment: Environment, now: datetime, starter: Starter = container_command
) -> ResolvedJob:
    """The message of a new run; nothing is written.

    Raises LabelsError when there is no such snapshot, NotLocal when `starter` cannot start the job's replicas: with
    the default, that is processes, when only an image says what to run.
    """
    check_starts(spec.custom_job, starter)
    inputs = find_inputs(environment, spec.overnight.snapshot)
    return resolve(spec, inputs, environment.runs_path, now)


def prepare_again(spec: JobSpec, environment: Environment, run_id: str) -> ResolvedJob:
    """The message of the run `run_id`, to go on with it.

    Raises OvernightError when there is no such run, when it has succeeded, or when the spec would now
    give another message.
    """
    folder = environment.runs_path / run_id
    if not RUN_ID.fullmatch(run_id) or not (folder / "spec.json").is_file():
        raise OvernightError(f"there is no run {run_id}", where=str(environment.runs_path), remedy="see its folders")
    if (folder / "run.json").is_file() and read_json(folder / "run.json", "overnight.run/1")["status"] == "succeeded":
        raise OvernightError(
            f"run {run_id} has succeeded", where=str(folder), remedy="start a new run without --resume"
        )
    sent = read_message(folder / "spec.json")
    again = resolve(spec, inputs_of(sent), environment.runs_path, started_at(run_id))
    if spec_bytes(again.custom_job) != spec_bytes(sent):
        raise SpecError(
            f"the spec has changed since run {run_id} started",
            where=str(spec.path),
            remedy="undo the change, or start a new run without --resume",
        )
    return again


def start(
    resolved: ResolvedJob,
    spec: JobSpec,
    environment: Environment,
    listener: Listener,
    cancels: CancelRequests,
    starter: Starter = container_command,
) -> FinishedRun:
    """Run a new job in its new folder and write `run.json`, also when it fails.

    Raises OvernightError when the run is there already: the same spec at the same second.
    """
    with locked(resolved.folder, "run"):
        if (resolved.folder / "spec.json").exists():
            raise OvernightError(
                f"run {resolved.run_id} is there already",
                where=str(resolved.folder),
                remedy="go on with it by --resume, or start a new one a second later",
            )
        write_atomically(resolved.folder / "spec.json", spec_bytes(resolved.custom_job))
        return _execute(resolved, spec, environment, listener, cancels, starter)


def resume(
    resolved: ResolvedJob,
    spec: JobSpec,
    environment: Environment,
    listener: Listener,
    cancels: CancelRequests,
    starter: Starter = container_command,
) -> FinishedRun:
    """Go on with a run that was interrupted, in its folder; the trainer takes up its last checkpoint.

    Raises FolderInUse while the run is still going on.
    """
    with locked(resolved.folder, "run"):
        (resolved.folder / "run.json").unlink(missing_ok=True)
        return _execute(resolved, spec, environment, listener, cancels, starter)


def _execute(
    resolved: ResolvedJob,
    spec: JobSpec,
    environment: Environment,
    listener: Listener,
    cancels: CancelRequests,
    starter: Starter,
) -> FinishedRun:
    identity = _identity(resolved.run_id)
    end = run_job(resolved.custom_job, identity, resolved.folder / "logs", listener, cancels, starter=starter)
    record = write_record(resolved.folder, _facts(resolved, spec, environment, identity, end))
    return FinishedRun(resolved.run_id, resolved.folder, end, record)


def read_message(path: Path) -> CustomJob:
    """The message in a run's `spec.json`; raises OvernightError when it is not one."""
    try:
        return parse_custom_job(json.loads(path.read_bytes()))
    except (ValueError, ParseError):
        raise OvernightError(
            "this is not a job's message any more", where=str(path), remedy="start a new run"
        ) from None


def started_at(run_id: str) -> datetime:
    """The start time in a run's id, UTC."""
    return datetime.strptime(run_id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)


def _identity(run_id: str) -> JobIdentity:
    """Vertex AI's job ids are 19 digits at most; this one always belongs to this run."""
    return JobIdentity(PROJECT_NUMBER, str(int(sha256_bytes(run_id.encode())[:15], 16)))


def _facts(
    resolved: ResolvedJob, spec: JobSpec, environment: Environment, identity: JobIdentity, end: JobEnd
) -> RunFacts:
    started = started_at(resolved.run_id)
    # With --now the run's clock is the given one, and goes on at the speed of the real one.
    return RunFacts(
        run_id=resolved.run_id,
        root=environment.root_path,
        status={JobState.SUCCEEDED: "succeeded", JobState.CANCELLED: "cancelled"}.get(end.state, "failed"),
        verdict=end.verdict,
        started=started,
        ended=started + timedelta(seconds=round(end.seconds)),
        display_name=resolved.custom_job.display_name,
        model=spec.overnight.model,
        spec_path=spec.path,
        job_names=(f"projects/{identity.project_number}/locations/{LOCATION}/customJobs/{identity.job_id}",),
        images=tuple(
            (pool, item.container_spec.image_uri)
            for pool, item in enumerate(resolved.custom_job.job_spec.worker_pool_specs)
            if item.container_spec.image_uri
        ),
        snapshot=inputs_of(resolved.custom_job).snapshot,
    )
