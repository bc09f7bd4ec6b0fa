"""From a CustomJob message to the plan of a job process: commands, environment, limits."""

import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.vertex_local.cluster import PRIMARY, JobIdentity, ReplicaName, replica_names, service_environment
from overnight.vertex_local.command import Command, container_command
from overnight.vertex_local.engine import reduction
from overnight.vertex_local.engine.folder import JobFolder
from overnight.vertex_local.engine.paths import ROOT_VARIABLE, local_folder, localised
from overnight.vertex_local.engine.plan import Plan, mark, plan_json
from overnight.vertex_local.engine.retries import RetryPolicy
from overnight.vertex_local.engine.verdicts import SPOT
from overnight.vertex_local.runner import DEFAULT_TIMEOUT_SECONDS
from overnight.vertex_local.settings import Settings


@dataclass(frozen=True)
class Launch:
    """What a plan is made from, beside the settings."""

    name: str
    job: Any
    number: int
    seconds_run: float = 0.0
    """How long earlier launches of this job have been running: they count towards its timeout."""
    extra: Mapping[str, str] | None = None
    """Variables that whoever submitted the job adds: those of a trial, for example."""
    trial: str | None = None
    """The trial's id, which CLUSTER_SPEC and TF_CONFIG then carry."""


def prepare_launch(folder: JobFolder, launch: Launch, settings: Settings, buckets: Path) -> None:
    """Make what the job process needs: its plan, the folder for logs, that of baseOutputDirectory.

    Raises NotLocal when nothing but an image could say what to run, OSError when there is no space.
    """
    plan = make_plan(launch, settings, buckets)
    base = launch.job.job_spec.base_output_directory.output_uri_prefix
    if base.startswith("gs://"):
        local_folder(buckets, base).mkdir(parents=True, exist_ok=True)
    for path in (folder.plan(plan.launch), folder.output(PRIMARY)):
        path.parent.mkdir(parents=True, exist_ok=True)
    folder.plan(plan.launch).write_text(plan_json(plan))


def make_plan(launch: Launch, settings: Settings, buckets: Path) -> Plan:
    """The plan; raises NotLocal when nothing but an image could say what to run."""
    token = f"address-{secrets.token_hex(8)}"
    scheduling = launch.job.job_spec.scheduling
    timeout = scheduling.timeout.ToTimedelta().total_seconds() or DEFAULT_TIMEOUT_SECONDS
    return Plan(
        launch=launch.number,
        commands=_commands(launch, settings, buckets, token),
        token=token,
        timeout=max(timeout - launch.seconds_run, 0.0),
        grace=settings.grace_seconds,
        preempt_after=_preemption(launch, settings),
        policy=retry_policy(scheduling, settings),
    )


def retry_policy(scheduling: Any, settings: Settings) -> RetryPolicy:
    """What the message allows of the settings' restarts. disableRetries overrides restartJobOnWorkerRestart."""
    if scheduling.disable_retries:
        return RetryPolicy(in_place=0, whole_job=0)
    return RetryPolicy(settings.in_place_restarts, settings.job_restarts, scheduling.restart_job_on_worker_restart)


def _commands(launch: Launch, settings: Settings, buckets: Path, token: str) -> dict[ReplicaName, Command]:
    job = launch.job
    identity = JobIdentity(_project_number(launch.name, settings), launch.name.rsplit("/", 1)[1])
    marks = {replica: mark(token, replica) for replica in replica_names(job)}
    commands = {}
    for replica in marks:
        service = service_environment(job, identity, marks, replica, launch.trial)
        service |= {ROOT_VARIABLE: str(buckets), **_tensorboard(launch), **(launch.extra or {})}
        if reduction.is_reducer(job.job_spec.worker_pool_specs[replica.pool]):
            command = Command(reduction.COMMAND, service)
        else:
            command = container_command(job, replica, service)
        commands[replica] = _localised(command, buckets) if settings.paths == "local" else command
    return commands


def _project_number(name: str, settings: Settings) -> str:
    project = name.split("/")[1]
    return project if project.isdigit() else settings.project_number


def _tensorboard(launch: Launch) -> dict[str, str]:
    board = launch.job.job_spec.tensorboard
    return {"AIP_TENSORBOARD_RESOURCE_NAME": board} if board else {}


def _localised(command: Command, buckets: Path) -> Command:
    return Command(
        tuple(localised(buckets, argument) for argument in command.arguments),
        {name: localised(buckets, value) for name, value in command.environment.items()},
    )


def _preemption(launch: Launch, settings: Settings) -> float | None:
    """Seconds until the machines are taken away: drawn by display name and launch, so a repeated day repeats it."""
    if settings.preemption_seed is None or launch.job.job_spec.scheduling.strategy != SPOT:
        return None
    draw = random.Random(f"{settings.preemption_seed}/{launch.job.display_name}/{launch.number}")
    return draw.expovariate(1 / settings.preemption_mean_seconds)
