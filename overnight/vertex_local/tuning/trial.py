"""Trials as the API shows them: made from a point, filled from what was measured; and the custom job of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.tuning.metrics import Measurement, final_measurement
from overnight.vertex_local.tuning.rules import JobError, Tally
from overnight.vertex_local.tuning.search import Algorithm, PastTrial
from overnight.vertex_local.tuning.space import Parameter, Value, argument, read_space, restored

State = v1.Trial.State
MAXIMIZE, MINIMIZE = 1, 2
BEST_MEASUREMENT = 2


@dataclass(frozen=True)
class Study:
    """What a StudySpec asks for."""

    parameters: tuple[Parameter, ...]
    metric_ids: tuple[str, ...]
    maximize: tuple[bool, ...]
    algorithm: Algorithm
    best: bool
    """Whether a trial's best measurement is final, not its last."""

    @classmethod
    def read(cls, spec: Any) -> "Study":
        """Raises JobError and SpaceError."""
        names = [metric.metric_id for metric in spec.metrics]
        if not names:
            raise JobError("study_spec.metrics: at least one metric is required.")
        for name in names:
            if not name or any(letter.isspace() for letter in name):
                raise JobError(f"study_spec.metrics.metric_id: {name!r} must not be empty or contain whitespace.")
            if names.count(name) > 1:
                raise JobError(f"study_spec.metrics: the metric id {name!r} is not unique.")
        if spec.algorithm not in set(Algorithm):
            raise JobError(f"study_spec.algorithm: {spec.algorithm} is not supported.")
        algorithm = Algorithm(spec.algorithm)
        return cls(
            parameters=read_space(spec, grid=algorithm is Algorithm.GRID_SEARCH),
            metric_ids=tuple(names),
            # "Goal Type will default to maximize."
            maximize=tuple(metric.goal != MINIMIZE for metric in spec.metrics),
            algorithm=algorithm,
            best=spec.measurement_selection_type == BEST_MEASUREMENT,
        )


def new_trial(number: int, point: Mapping[str, Value], custom_job: str) -> Any:
    """A trial that has been suggested."""
    trial = v1.Trial.pb()(id=str(number), state=State.REQUESTED, custom_job=custom_job)
    for name, value in point.items():
        parameter = trial.parameters.add(parameter_id=name)
        if isinstance(value, str):
            parameter.value.string_value = value
        else:
            parameter.value.number_value = value
    return trial


def point_of(trial: Any, parameters: Sequence[Parameter]) -> dict[str, Value]:
    """The point that a trial tries."""
    values = {each.parameter_id: getattr(each.value, each.value.WhichOneof("kind")) for each in trial.parameters}
    return restored(parameters, values)


def past_trial(trial: Any, study: Study) -> PastTrial:
    """The trial as the search sees it."""
    metrics = {metric.metric_id: metric.value for metric in trial.final_measurement.metrics}
    return PastTrial(
        number=int(trial.id),
        parameters=point_of(trial, study.parameters),
        metrics=tuple(metrics[name] for name in study.metric_ids) if trial.state == State.SUCCEEDED else None,
        running=trial.state in (State.REQUESTED, State.ACTIVE),
    )


def tally(trials: Sequence[Any]) -> Tally:
    """How a job's trials stand."""
    infeasible = [trial.id for trial in trials if trial.state == State.INFEASIBLE]
    succeeded = sum(trial.state == State.SUCCEEDED for trial in trials)
    return Tally(
        active=len(trials) - succeeded - len(infeasible),
        succeeded=succeeded,
        failed=len(infeasible),
        first_failed="1" in infeasible,
    )


def show_measurements(trial: Any, measurements: Sequence[Measurement], started: float) -> None:
    """Write into the trial what it has measured; `started` in Unix seconds."""
    del trial.measurements[:]
    for each in measurements:
        _fill(trial.measurements.add(), each, started)


def end_trial(trial: Any, study: Study, measurements: Sequence[Measurement], started: float) -> None:
    """End a trial whose job succeeded: with its final measurement, or infeasible where it has none."""
    final = final_measurement(measurements, study.metric_ids, best=study.best, maximize=study.maximize[0])
    if final is None:
        named = ", ".join(study.metric_ids)
        refuse_trial(trial, f"The trial ended without a measurement of {named}.")
        return
    trial.state = State.SUCCEEDED
    _fill(trial.final_measurement, final, started)


def refuse_trial(trial: Any, reason: str) -> None:
    """End a trial that has no result."""
    trial.state = State.INFEASIBLE
    trial.infeasible_reason = reason


def _fill(message: Any, measurement: Measurement, started: float) -> None:
    message.step_count = measurement.step
    message.elapsed_duration.FromMicroseconds(round(max(measurement.time - started, 0.0) * 1e6))
    for name, value in measurement.metrics.items():
        message.metrics.add(metric_id=name, value=value)


def trial_job(job: Any, trial: Any, point: Mapping[str, Value]) -> Any:
    """The custom job of a trial: the tuning job's own, with the point's values as arguments of every replica."""
    custom = v1.CustomJob.pb()(display_name=f"{job.display_name}-{trial.id}"[:128])
    custom.job_spec.CopyFrom(job.trial_job_spec)
    custom.labels.update(job.labels)
    if job.HasField("encryption_spec"):
        custom.encryption_spec.CopyFrom(job.encryption_spec)
    base = custom.job_spec.base_output_directory.output_uri_prefix
    if base:
        custom.job_spec.base_output_directory.output_uri_prefix = f"{base.rstrip('/')}/{trial.id}"
    for pool in custom.job_spec.worker_pool_specs:
        task = pool.WhichOneof("task")
        if task:
            getattr(pool, task).args.extend(argument(name, value) for name, value in point.items())
    return custom
