"""One page for the morning: what ran, what failed, what the GPUs did, where to look further."""

import json
from collections.abc import Sequence
from typing import Any

from infra import cdk
from infra.constructs.alerts import GPU_UTILIZATION, runbook
from infra.constructs.stack import Stack

GOOGLE_METRICS = (
    GPU_UTILIZATION,
    "ml.googleapis.com/training/accelerator/memory/utilization",
    "ml.googleapis.com/training/cpu/utilization",
    "ml.googleapis.com/training/network/received_bytes_count",
    "aiplatform.googleapis.com/pipelinejob/duration",
)
"""Metrics that are not this stack's own: the `ml` and `aiplatform` lists of Cloud Monitoring, and the docs' pages
"Cloud Monitoring metrics" (custom training) and "View pipeline metrics" (pipelines, a preview)."""
FINISHED = ("weekly_finished", "weekly_reported", "monthly_tuning_finished", "monthly_tuning_reported")
WIDTH, HEIGHT = 24, 12
"""Of a chart, in columns of 48 and rows."""


def create_dashboard(stack: Stack) -> Any:
    """The dashboard; its JSON is the same whenever the configuration is."""
    return cdk.MonitoringDashboard(stack, "night_dashboard", dashboard_json=json.dumps(layout(stack), sort_keys=True))


def layout(stack: Stack) -> dict[str, Any]:
    """The dashboard as the API's JSON: two tiles a row."""
    widgets = _widgets(stack)
    return {
        "displayName": f"Overnight: {stack.settings.environment}",
        "mosaicLayout": {
            "columns": 2 * WIDTH,
            "tiles": [
                {
                    "xPos": WIDTH * (position % 2),
                    "yPos": HEIGHT * (position // 2),
                    "width": WIDTH,
                    "height": HEIGHT,
                    "widget": widget,
                }
                for position, widget in enumerate(widgets)
            ],
        },
    }


def _widgets(stack: Stack) -> list[dict[str, Any]]:
    gpu, gpu_memory, cpu, received, duration = GOOGLE_METRICS
    return [
        _text("What is what", _links(stack)),
        _text("What it costs", _costs(stack)),
        _counts(stack, "Runs finished: by the service, reported: by the last step", FINISHED),
        _counts(stack, "Failures", ["pipeline_failed", "job_failed", "loss_diverged", "out_of_memory"]),
        _counts(stack, "Decisions", ["model_promoted", "model_refused", "snapshot_rejected"]),
        _chart("Pipeline runs: seconds so far", [_gauge(duration, "pipeline_job_id")]),
        _chart("Training loss", [_mean(stack, "train_loss")]),
        _chart("Validation accuracy", [_mean(stack, "validation_accuracy")]),
        _chart("Time a run waited for data", [_mean(stack, "data_wait_share")]),
        _chart("GPU utilization", [_gauge(gpu, "job_id")]),
        _chart("GPU memory", [_gauge(gpu_memory, "job_id")]),
        _chart("CPU utilization: decoding", [_gauge(cpu, "job_id")]),
        _chart("Bytes received a second: reading shards, exchanging gradients", [_rate(received, "job_id")]),
    ]


def _counts(stack: Stack, title: str, signals: Sequence[str]) -> dict[str, Any]:
    series = [
        _series(_own(stack, signal), "ALIGN_DELTA", "REDUCE_SUM", plot="STACKED_BAR", legend=signal.replace("_", " "))
        for signal in signals
    ]
    return _chart(title, series)


def _mean(stack: Stack, measure: str) -> dict[str, Any]:
    return _series(_own(stack, measure), "ALIGN_DELTA", "REDUCE_MEAN", by="job_id", period="300s")


def _gauge(metric_type: str, by: str) -> dict[str, Any]:
    return _series(metric_type, "ALIGN_MEAN", "REDUCE_MEAN", by=by, period="300s")


def _rate(metric_type: str, by: str) -> dict[str, Any]:
    return _series(metric_type, "ALIGN_RATE", "REDUCE_SUM", by=by, period="300s")


def _own(stack: Stack, signal: str) -> str:
    return f"logging.googleapis.com/user/{stack.names.prefixed(signal.replace('_', '-'))}"


def _series(
    metric_type: str,
    aligner: str,
    reducer: str,
    *,
    by: str | None = None,
    period: str = "3600s",
    plot: str = "LINE",
    legend: str | None = None,
) -> dict[str, Any]:
    """One data set of a chart; `by` is a label of the monitored resource."""
    aggregation: dict[str, Any] = {
        "alignmentPeriod": period,
        "perSeriesAligner": aligner,
        "crossSeriesReducer": reducer,
    }
    if by:
        aggregation["groupByFields"] = [f"resource.label.{by}"]
    series: dict[str, Any] = {
        "plotType": plot,
        "timeSeriesQuery": {"timeSeriesFilter": {"filter": f'metric.type="{metric_type}"', "aggregation": aggregation}},
    }
    return {**series, "legendTemplate": legend} if legend else series


def _chart(title: str, series: list[dict[str, Any]]) -> dict[str, Any]:
    return {"title": title, "xyChart": {"dataSets": series}}


def _text(title: str, content: str) -> dict[str, Any]:
    return {"title": title, "text": {"content": content, "format": "MARKDOWN"}}


def _links(stack: Stack) -> str:
    google = stack.google
    console = "https://console.cloud.google.com"
    project = f"project={google.project_id}"
    return "\n".join(
        [
            f"- [Pipeline runs]({console}/vertex-ai/pipelines/runs?{project})",
            f"- [Schedules]({console}/vertex-ai/pipelines/schedules?{project})",
            f"- [Training jobs]({console}/vertex-ai/training/custom-jobs?{project})",
            f"- [Alerts]({console}/monitoring/alerting?{project})",
            f"- [What each alert means, and what to do]({runbook(stack, 'alerts')})",
        ]
    )


def _costs(stack: Stack) -> str:
    google = stack.google
    pools = [
        f"- Pool {pool.name}: {pool.idle_usd_per_day:,.2f} USD a day with no job on it "
        f"(prices of {pool.prices_as_of}); ask {pool.owner}, decided until {pool.expires}"
        for pool in google.persistent_resources
        if pool.enabled
    ]
    return "\n".join(
        [
            f"- Budget: {google.budget.amount:,} {google.budget.currency_code} a month. It alerts; it stops nothing.",
            *(pools or ["- No machines are kept warm."]),
            f"- [Bill by label](https://console.cloud.google.com/billing/reports?project={google.project_id})",
        ]
    )
