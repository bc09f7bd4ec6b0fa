"""JobService's hyperparameter tuning jobs: their trials run as custom jobs of the engine."""

import logging
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import ApiError, failed_precondition
from overnight.vertex_local.engine.codes import Code
from overnight.vertex_local.engine.message import state_of
from overnight.vertex_local.job import JobState
from overnight.vertex_local.services.child_jobs import child_name
from overnight.vertex_local.services.tuning_rules import check_tuning_job, limits_of
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.tuning.metrics import Measurement, read_measurements
from overnight.vertex_local.tuning.rules import to_start, too_many_failed
from overnight.vertex_local.tuning.search import suggest
from overnight.vertex_local.tuning.trial import (
    State,
    Study,
    end_trial,
    new_trial,
    past_trial,
    point_of,
    refuse_trial,
    show_measurements,
    tally,
    trial_job,
)
from overnight.vertex_local.world import World

_log = logging.getLogger(__name__)

KIND = "google.cloud.aiplatform.v1.HyperparameterTuningJob"
ENDED = (v1.JobState.JOB_STATE_SUCCEEDED, v1.JobState.JOB_STATE_FAILED, v1.JobState.JOB_STATE_CANCELLED)
OPEN = (State.REQUESTED, State.ACTIVE, State.STOPPING)
METRIC_FILE = "CLOUD_ML_HP_METRIC_FILE"
TRIAL_ID = "CLOUD_ML_TRIAL_ID"


class TuningService:
    """Create, get, list, cancel, delete; `tick` carries every job on that has not ended."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.RLock()
        self._live: dict[str, None] = {}
        self._cancelled: set[str] = set()
        """Custom jobs that this server has asked to end."""

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        return {
            "JobService/CreateHyperparameterTuningJob": self.create,
            "JobService/GetHyperparameterTuningJob": lambda request: self._world.resources.get(request.name),
            "JobService/ListHyperparameterTuningJobs": self.list,
            "JobService/CancelHyperparameterTuningJob": self.cancel,
            "JobService/DeleteHyperparameterTuningJob": self.delete,
        }

    def create(self, request: Any) -> Any:
        """The job, PENDING."""
        job = request.hyperparameter_tuning_job
        check_tuning_job(self._world, request.parent, job)
        for field in ("trials", "start_time", "end_time", "error"):
            job.ClearField(field)
        job.state = v1.JobState.JOB_STATE_PENDING
        with self._lock:
            made = self._world.resources.create(request.parent, "hyperparameterTuningJobs", job)
            self._live[made.name] = None
        self._world.wake()
        return made

    def list(self, request: Any) -> Any:
        """A page of the location's jobs."""
        return self._world.resources.list(request, v1.ListHyperparameterTuningJobsResponse.pb()(), KIND)

    def cancel(self, request: Any) -> Any:
        """Nothing; the job is CANCELLED when its trials have stopped. One that has ended stays as it is."""
        with self._lock:
            job = self._world.resources.get(request.name)
            if job.state not in ENDED:
                self._world.resources.change(request.name, _cancelling)
        self._world.wake()
        return Empty()

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation that is over."""
        with self._lock:
            if self._world.resources.get(request.name).state not in ENDED:
                raise failed_precondition(f"{request.name} has not ended; cancel it before deleting it.")
            self._world.resources.delete(request.name)
        return self._world.operations.done(Empty(), parent_of(request.name), v1.DeleteOperationMetadata.pb()())

    def resume(self) -> None:
        """Take up the jobs of a server that is gone."""
        names = self._world.store.names(KIND)
        self._live = {name: None for name in names if self._world.resources.get(name).state not in ENDED}

    def tick(self) -> None:
        """Look after every job that has not ended."""
        with self._lock:
            for name in list(self._live):
                try:
                    self._carry_on(name)
                except Exception:
                    _log.exception("%s failed", name)
                    del self._live[name]
                    self._world.resources.change(name, self._break_off)

    def _carry_on(self, name: str) -> None:
        before = self._world.resources.get(name)
        job = type(before)()
        job.CopyFrom(before)
        study = Study.read(job.study_spec)
        for trial in job.trials:
            if trial.state in OPEN:
                self._look_after(job, trial, study)
        self._decide(job, study)
        if job != before:
            # Written down before anything is submitted: a trial is found again by its custom job's name.
            self._world.resources.change(name, lambda kept: kept.CopyFrom(job))
        if job.state in ENDED:
            del self._live[name]
            return
        for trial in job.trials:
            self._steer(job, trial, study)

    def _look_after(self, job: Any, trial: Any, study: Study) -> None:
        """Bring a trial up to date with its custom job and its metric file."""
        custom: Any = self._world.store.find(trial.custom_job)
        if custom is None:
            if trial.state == State.ACTIVE:
                refuse_trial(trial, "The trial's custom job was deleted.")
            return
        if trial.state == State.REQUESTED:
            trial.state = State.ACTIVE
        if custom.HasField("start_time"):
            trial.start_time.CopyFrom(custom.start_time)
            _run(job, custom.start_time)
        if custom.web_access_uris:
            trial.web_access_uris.update(custom.web_access_uris)
        measurements = self._measured(job, trial, study)
        show_measurements(trial, measurements, self._real_seconds(trial.start_time))
        self._end(trial, custom, study, measurements)

    def _end(self, trial: Any, custom: Any, study: Study, measurements: tuple[Measurement, ...]) -> None:
        state = state_of(custom)
        if state not in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED):
            return
        trial.end_time.CopyFrom(custom.end_time)
        trial.web_access_uris.clear()
        if state is JobState.SUCCEEDED:
            end_trial(trial, study, measurements, self._real_seconds(trial.start_time))
        else:
            refuse_trial(trial, custom.error.message or f"The trial's custom job was {state.lower()}.")

    def _decide(self, job: Any, study: Study) -> None:
        """Start trials, stop them, or end the job."""
        limits, now = limits_of(job), tally(job.trials)
        cancelling = job.state == v1.JobState.JOB_STATE_CANCELLING
        reason = "The job was cancelled." if cancelling else too_many_failed(limits, now)
        if reason is not None:
            _stop(job)
            if not tally(job.trials).active:
                job.error.code = Code.CANCELLED if cancelling else Code.INVALID_ARGUMENT
                job.error.message = reason
                self._close(job, v1.JobState.JOB_STATE_CANCELLED if cancelling else v1.JobState.JOB_STATE_FAILED)
        elif not self._add_trials(job, study, to_start(limits, now)) and not now.active:
            self._close(job, v1.JobState.JOB_STATE_SUCCEEDED)

    def _add_trials(self, job: Any, study: Study, count: int) -> bool:
        """Ask the search for trials; false when there are none to add."""
        added = False
        for _ in range(count):
            number = len(job.trials) + 1
            past = [past_trial(trial, study) for trial in job.trials]
            point = suggest(
                study.parameters,
                study.maximize,
                past,
                number=number,
                seed=self._world.settings.study_seed,
                algorithm=study.algorithm,
            )
            if point is None:
                break
            job.trials.append(new_trial(number, point, child_name(job.name, str(number))))
            added = True
        return added

    def _break_off(self, job: Any) -> None:
        """A job that cannot be looked after fails, and does not keep the others from going on."""
        job.error.code, job.error.message = Code.INTERNAL, "Internal error."
        self._close(job, v1.JobState.JOB_STATE_FAILED)

    def _close(self, job: Any, state: int) -> None:
        job.state = state
        job.end_time.CopyFrom(self._world.clock.timestamp())

    def _steer(self, job: Any, trial: Any, study: Study) -> None:
        """Submit the custom job of a new trial; cancel that of one that is to stop."""
        if trial.state == State.STOPPING and trial.custom_job not in self._cancelled:
            self._cancelled.add(trial.custom_job)
            self._world.engine.cancel(trial.custom_job)
        elif trial.state == State.REQUESTED and self._world.store.find(trial.custom_job) is None:
            metric_file = self._metric_file(job, trial)
            metric_file.parent.mkdir(parents=True, exist_ok=True)
            custom = trial_job(job, trial, point_of(trial, study.parameters))
            environment = {TRIAL_ID: trial.id, METRIC_FILE: str(metric_file)}
            try:
                self._world.engine.submit(trial.custom_job, custom, environment=environment, trial=trial.id)
            except ApiError as error:
                self._refuse(job.name, trial.id, error.message)

    def _refuse(self, name: str, trial_id: str, reason: str) -> None:
        def change(job: Any) -> None:
            refuse_trial(next(trial for trial in job.trials if trial.id == trial_id), reason)

        self._world.resources.change(name, change)

    def _measured(self, job: Any, trial: Any, study: Study) -> tuple[Measurement, ...]:
        try:
            text = self._metric_file(job, trial).read_text(errors="replace")
        except FileNotFoundError:
            return ()
        return read_measurements(text, study.metric_ids)

    def _metric_file(self, job: Any, trial: Any) -> Path:
        _, _, _, region, _, number = job.name.split("/")
        path: Path = self._world.folder / "tuning" / region / number / trial.id / "output.metrics"
        return path

    def _real_seconds(self, moment: Any) -> float:
        """Unix seconds on the machine's clock, which the metric file has, of a time on the server's."""
        ahead = (self._world.clock.now() - datetime.now(UTC)).total_seconds()
        return float(moment.ToDatetime(UTC).timestamp()) - round(ahead, 2)


def _run(job: Any, since: Any) -> None:
    """The job is RUNNING from the start of its first trial on."""
    if job.state == v1.JobState.JOB_STATE_PENDING:
        job.state = v1.JobState.JOB_STATE_RUNNING
        job.start_time.CopyFrom(since)


def _cancelling(job: Any) -> None:
    job.state = v1.JobState.JOB_STATE_CANCELLING


def _stop(job: Any) -> None:
    """Let every trial end: those that were not submitted at once."""
    for trial in job.trials:
        if trial.state == State.REQUESTED:
            refuse_trial(trial, "The tuning job ended before the trial started.")
        elif trial.state == State.ACTIVE:
            trial.state = State.STOPPING
