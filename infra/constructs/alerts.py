"""Who hears of a bad night, and of what; docs/infra-monitoring.md has a section for each alert."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from infra import cdk
from infra.constructs.log_metrics import Signal
from infra.constructs.stack import Stack
from overnight.config import ConfigError
from overnight.config.cron import WindowEnd

Severity = Literal["CRITICAL", "ERROR", "WARNING"]

GPU_UTILIZATION = "ml.googleapis.com/training/accelerator/utilization"
"""Docs, "Cloud Monitoring metrics": custom training exports `ml.googleapis.com/training/…` on `cloudml_job`."""
IDLE_UTILIZATION = 0.05
"""Share of the time; a job that is starved of data still lies above it."""


@dataclass(frozen=True, kw_only=True)
class Alert:
    """What an alert tells the person who is woken."""

    name: str
    """snake_case; the policy's Terraform address is `google_monitoring_alert_policy.<name>_alert`."""
    title: str
    happened: str
    do: str
    """Both sentences stand in the mail, before the link to the runbook."""
    severity: Severity

    @property
    def anchor(self) -> str:
        """The section of docs/infra-monitoring.md."""
        return self.title.lower().replace(" ", "-")


JOB_FAILED = Alert(
    name="job_failed",
    title="Job failed",
    happened="A training job or a pipeline run failed.",
    do="Read the last lines of the failed step, then start the run again or correct its cause.",
    severity="ERROR",
)
LOSS_DIVERGED = Alert(
    name="loss_diverged",
    title="Loss diverged",
    happened="The training loss became NaN or infinite, so the job ended; nothing was promoted.",
    do="Leave the champion as it is and lower the learning rate in the morning.",
    severity="ERROR",
)
OUT_OF_MEMORY = Alert(
    name="out_of_memory",
    title="Out of memory",
    happened="A replica ran out of memory; Vertex AI does not retry that.",
    do="Set micro_batch_size or choose a larger machine, then start the run again.",
    severity="ERROR",
)
SNAPSHOT_REJECTED = Alert(
    name="snapshot_rejected",
    title="Snapshot rejected",
    happened="The label table did not pass its checks, so nothing was trained; the champion stays.",
    do="Open the validation report and tell the analysts what to correct.",
    severity="WARNING",
)
GPU_IDLE = Alert(
    name="gpu_idle",
    title="GPU idle",
    happened="A job holds GPUs and does not use them.",
    do="Look at the job's log; when it hangs, cancel it, for every minute is billed.",
    severity="WARNING",
)


def window_missed(schedule: str) -> Alert:
    """The alert of one schedule."""
    words = schedule.replace("_", " ")
    return Alert(
        name=f"{schedule}_window_missed",
        title="Window missed",
        happened=f"When its window ended, no {words} run had succeeded.",
        do="See whether it still runs, failed or never started; the champion of the week before stays.",
        severity="CRITICAL",
    )


def create_channels(stack: Stack, emails: Sequence[str]) -> list[Any]:
    """One e-mail channel an address. Raises ConfigError when two addresses differ in punctuation alone."""
    made: dict[str, str] = {}
    for email in dict.fromkeys(emails):
        name = _terraform_name(email)
        if name in made:
            raise ConfigError(
                f"{made[name]} and {email} would have the same name in Terraform",
                where="google.monitoring.notification_emails",
                remedy="keep one of them, or give a group's address",
            )
        made[name] = email
    return [_channel(stack, name, email) for name, email in made.items()]


def _terraform_name(email: str) -> str:
    words = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in email)
    return f"_{words}" if words[0].isdigit() else words


def _channel(stack: Stack, name: str, email: str) -> Any:
    return cdk.MonitoringNotificationChannel(
        stack,
        f"{name}_channel",
        display_name=f"{stack.settings.environment}: {email}",
        type="email",
        labels={"email_address": email},
        user_labels=stack.labels,
        # Terraform would delete a channel before it takes it out of the policies, which the API refuses.
        force_delete=True,
    )


def on_log_entry(stack: Stack, channels: Sequence[Any], alert: Alert, signals: Sequence[Signal]) -> Any:
    """Told at once, at most hourly, about entries of any of `signals`."""
    condition = cdk.MonitoringAlertPolicyConditionsConditionMatchedLog(
        filter=" OR ".join(f"({signal.filter})" for signal in signals),
        # The job's id comes along into the mail; each job is an incident of its own.
        label_extractors={
            "job": "EXTRACT(resource.labels.job_id)",
            "pipeline": "EXTRACT(resource.labels.pipeline_job_id)",
        },
    )
    rate = cdk.MonitoringAlertPolicyAlertStrategyNotificationRateLimit(period=_seconds(timedelta(hours=1)))
    return _policy(stack, channels, alert, {"condition_matched_log": condition}, notification_rate_limit=rate)


def on_idle_gpu(stack: Stack, channels: Sequence[Any], minutes: int) -> Any:
    """Told when all of a job's accelerators together stay under IDLE_UTILIZATION for `minutes`.

    A pool on which no job runs exports nothing: it is the budget and `max_idle_usd_per_day` that watch it.
    """
    condition = cdk.MonitoringAlertPolicyConditionsConditionThreshold(
        filter=f'resource.type="cloudml_job" AND metric.type="{GPU_UTILIZATION}"',
        comparison="COMPARISON_LT",
        threshold_value=IDLE_UTILIZATION,
        duration=_seconds(timedelta(minutes=minutes)),
        # A job that has ended sends nothing more: that is no idle GPU.
        evaluation_missing_data="EVALUATION_MISSING_DATA_INACTIVE",
        aggregations=[
            cdk.MonitoringAlertPolicyConditionsConditionThresholdAggregations(
                alignment_period=_seconds(timedelta(minutes=5)),
                per_series_aligner="ALIGN_MEAN",
                cross_series_reducer="REDUCE_MEAN",
                group_by_fields=["resource.label.job_id"],
            )
        ],
    )
    return _policy(stack, channels, GPU_IDLE, {"condition_threshold": condition})


def on_missed_window(
    stack: Stack,
    channels: Sequence[Any],
    schedule: str,
    signals: Sequence[Signal],
    end: WindowEnd,
    metrics: Sequence[Any],
) -> Any:
    """Told in the hour after the window when none of `signals` was counted in it. `metrics` must exist first."""
    condition = cdk.MonitoringAlertPolicyConditionsConditionPrometheusQueryLanguage(
        query=missed_query([signal.metric_type(stack.names) for signal in signals], end),
        # Entries of the last minutes take a while to be counted.
        duration=_seconds(timedelta(minutes=10)),
        evaluation_interval=_seconds(timedelta(minutes=1)),
        # Before the first run there is no series, and the API would refuse the query for that.
        disable_metric_validation=True,
    )
    return _policy(
        stack,
        channels,
        window_missed(schedule),
        {"condition_prometheus_query_language": condition},
        depends_on=metrics,
        # The hour passes and with it the condition; a mail "closed" would sound as if the run had come.
        notification_prompts=["OPENED"],
    )


def missed_query(metric_types: Sequence[str], end: WindowEnd) -> str:
    """PromQL that has a value only in the hour of `end`, and only when none of the metrics rose before it."""
    counts = " + ".join(
        f"(sum(increase({promql_name(name)}[{end.lookback_hours}h])) or vector(0))" for name in metric_types
    )
    day = f"day_of_month() == {end.day_utc}" if end.day_utc else f"day_of_week() == {end.weekday_utc}"
    # increase() extrapolates: one run may count as a little less than 1.
    return f"({counts}) < 0.5 and on() (hour() == {end.hour_utc}) and on() ({day})"


def promql_name(metric_type: str) -> str:
    """Docs, "Mapping Cloud Monitoring metrics to PromQL": the first `/` becomes `:`, all else that is special `_`."""
    domain, _, path = metric_type.partition("/")
    return ":".join(
        "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in part) for part in (domain, path)
    )


def runbook(stack: Stack, anchor: str) -> str:
    """Where a section of docs/infra-monitoring.md stands in the repository."""
    repository = stack.google.cloud_build.repository
    return (
        f"{repository.remote_uri.removesuffix('.git')}/blob/{repository.main_branch}/docs/infra-monitoring.md#{anchor}"
    )


def _policy(
    stack: Stack,
    channels: Sequence[Any],
    alert: Alert,
    condition: dict[str, Any],
    *,
    depends_on: Sequence[Any] = (),
    **strategy: Any,
) -> Any:
    link = runbook(stack, alert.anchor)
    return cdk.MonitoringAlertPolicy(
        stack,
        f"{alert.name}_alert",
        display_name=stack.names.prefixed(alert.name.replace("_", "-")),
        combiner="OR",
        severity=alert.severity,
        conditions=[cdk.MonitoringAlertPolicyConditions(display_name=alert.title, **condition)],
        notification_channels=[channel.name for channel in channels],
        documentation=cdk.MonitoringAlertPolicyDocumentation(
            subject=f"{stack.settings.environment}: {alert.name.replace('_', ' ')}",
            content=f"{alert.happened} {alert.do}\n\nWhat to do, step by step: [{alert.title}]({link})",
            mime_type="text/markdown",
            links=[cdk.MonitoringAlertPolicyDocumentationLinks(display_name="What to do", url=link)],
        ),
        alert_strategy=cdk.MonitoringAlertPolicyAlertStrategy(auto_close=_seconds(timedelta(days=1)), **strategy),
        user_labels=stack.labels,
        depends_on=list(depends_on),
    )


def _seconds(span: timedelta) -> str:
    """As the API writes durations."""
    return f"{int(span.total_seconds())}s"
