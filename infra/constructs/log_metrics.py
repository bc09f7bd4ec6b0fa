"""Signals: which log entries mean what, and a log-based metric that counts each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infra import cdk
from infra.constructs import log_lines
from infra.constructs.stack import Stack
from overnight.config.names import Names
from overnight.config.training import ScheduledPipeline, SchedulesConfig

TRAINING_LOG = 'resource.type="ml_job"'
"""Custom jobs, and the containers of pipeline steps, which run as custom jobs (gcloud's own log filter for ml jobs)."""
PIPELINE_LOG = (
    'resource.type="aiplatform.googleapis.com/PipelineJob" AND log_id("aiplatform.googleapis.com/pipeline_job_events")'
)
"""The service's own record of a pipeline's states: docs "View pipeline job logs" and "View pipeline metrics"."""


@dataclass(frozen=True, kw_only=True)
class Signal:
    """Log entries of one meaning.

    Each filter names exactly one resource type: PromQL must be told which when a metric has several.
    """

    name: str
    """snake_case; the metric's Terraform address is `google_logging_metric.<name>_metric`."""
    what: str
    """What one entry means, for people."""
    filter: str

    def metric(self, names: Names) -> str:
        """The metric's name in the project."""
        return names.prefixed(self.name.replace("_", "-"))

    def metric_type(self, names: Names) -> str:
        """The metric's name in Cloud Monitoring."""
        return f"logging.googleapis.com/user/{self.metric(names)}"


@dataclass(frozen=True, kw_only=True)
class Measure(Signal):
    """A signal whose entries carry a number: a distribution instead of a count."""

    extractor: str
    low: float
    """Where the histogram's first bucket ends; each following one is a quarter larger."""


def job_signals() -> tuple[Signal, ...]:
    """What can happen to any job or pipeline of the project, whichever environment started it."""
    failed = 'jsonPayload.state="PIPELINE_STATE_FAILED"'
    return (
        Signal(name="pipeline_failed", what="A pipeline run failed.", filter=f"{PIPELINE_LOG} AND {failed}"),
        _line("job_failed", "A replica of a training job failed.", log_lines.JOB_FAILED),
        _line("loss_diverged", "The training loss is no longer a number.", log_lines.LOSS_DIVERGED),
        _line("out_of_memory", "A replica ran out of memory.", log_lines.OUT_OF_MEMORY),
        Signal(
            name="snapshot_rejected",
            what="The label table did not pass its checks.",
            filter=(
                f"{TRAINING_LOG} AND ({_text(log_lines.SNAPSHOT_REJECTED)} OR {_event(event='snapshot_rejected')})"
            ),
        ),
        _line("model_promoted", "The gate made a model version champion.", log_lines.MODEL_PROMOTED),
        _line("model_refused", "The gate refused a model version.", log_lines.MODEL_REFUSED),
    )


def measures() -> tuple[Measure, ...]:
    """Numbers that training jobs print."""
    return (
        _measure("train_loss", "Mean training loss since the evaluation before.", log_lines.TRAIN_LOSS, 0.001),
        _measure("validation_accuracy", "Accuracy on the validation split.", log_lines.VALIDATION_ACCURACY, 0.01),
        Measure(
            name="data_wait_share",
            what="Share of a run's time that it waited for data.",
            filter=f'{TRAINING_LOG} AND jsonPayload.overnight.event="run_finished"',
            extractor="EXTRACT(jsonPayload.overnight.data_wait_share)",
            low=0.01,
        ),
    )


def finished_signals(schedule: str, pipeline: ScheduledPipeline, names: Names) -> tuple[Signal, Signal]:
    """A scheduled run of this environment has ended well: said by the service, and by the run's last step."""
    # The label is documented, not the form of its value: `:` finds the account in an e-mail and in a resource name.
    ours = f'labels.service_account:"{names.account_id("pipeline")}@"'
    ended = f'jsonPayload.state="PIPELINE_STATE_SUCCEEDED" AND jsonPayload.pipelineName="{pipeline_name(pipeline)}"'
    event = _event(event="run_finished", environment=names.environment, schedule=schedule)
    return (
        Signal(
            name=f"{schedule}_finished",
            what=f"A run of the pipeline behind the {schedule} schedule succeeded.",
            filter=f"{PIPELINE_LOG} AND {ended} AND {ours}",
        ),
        Signal(
            name=f"{schedule}_reported",
            what=f"The last step of a {schedule} run reported that it is finished.",
            filter=f"{TRAINING_LOG} AND {event}",
        ),
    )


def all_signals(schedules: SchedulesConfig, names: Names) -> tuple[Signal, ...]:
    """Every signal that has a metric."""
    weekly = finished_signals("weekly", schedules.weekly, names)
    tuning = finished_signals("monthly_tuning", schedules.monthly_tuning, names)
    return (*job_signals(), *measures(), *weekly, *tuning)


def pipeline_name(pipeline: ScheduledPipeline) -> str:
    """A template's package is called as its pipeline; the package stands before the digest."""
    return pipeline.template_uri.split("/")[-2]


def create_metrics(stack: Stack, signals: Sequence[Signal]) -> dict[str, Any]:
    """One log-based metric a signal, by the signal's name."""
    return {signal.name: _create(stack, signal) for signal in signals}


def _create(stack: Stack, signal: Signal) -> Any:
    measure = signal if isinstance(signal, Measure) else None
    return cdk.LoggingMetric(
        stack,
        f"{signal.name}_metric",
        name=signal.metric(stack.names),
        description=signal.what,
        filter=signal.filter,
        metric_descriptor=cdk.LoggingMetricMetricDescriptor(
            metric_kind="DELTA", value_type="DISTRIBUTION" if measure else "INT64", unit="1"
        ),
        value_extractor=measure and measure.extractor,
        bucket_options=measure
        and cdk.LoggingMetricBucketOptions(
            exponential_buckets=cdk.LoggingMetricBucketOptionsExponentialBuckets(
                growth_factor=1.25, num_finite_buckets=60, scale=measure.low
            )
        ),
    )


def _line(name: str, what: str, pattern: str) -> Signal:
    return Signal(name=name, what=what, filter=f"{TRAINING_LOG} AND {_text(pattern)}")


def _measure(name: str, what: str, pattern: str, low: float) -> Measure:
    return Measure(
        name=name,
        what=what,
        filter=f"{TRAINING_LOG} AND jsonPayload.message=~{_quoted(pattern)}",
        extractor=f"REGEXP_EXTRACT(jsonPayload.message, {_quoted(pattern)})",
        low=low,
    )


def _text(pattern: str) -> str:
    """What a container wrote is `jsonPayload.message`; some lines of the service itself are `textPayload`."""
    return f"(jsonPayload.message=~{_quoted(pattern)} OR textPayload=~{_quoted(pattern)})"


def _event(*, event: log_lines.Event, **fields: str) -> str:
    """A structured line, whether the log's agent has parsed it or left it as text."""
    parsed = " AND ".join(
        f'jsonPayload.overnight.{key}="{value}"' for key, value in sorted({**fields, "event": event}.items())
    )
    return f"(({parsed}) OR {_text(log_lines.structured(event, **fields))})"


def _quoted(pattern: str) -> str:
    return '"' + pattern.replace('"', '\\"') + '"'
