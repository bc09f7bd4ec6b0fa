"""Vertex AI: pools, schedules, TensorBoard, alerts, dashboard, budget."""

from typing import Any

from infra import cdk
from infra.constructs import alerts
from infra.constructs.budget import create_budget
from infra.constructs.dashboard import create_dashboard
from infra.constructs.log_metrics import all_signals, create_metrics, finished_signals, job_signals
from infra.constructs.pools import create_pool, described
from infra.constructs.schedules import create_scheduler_job, create_vertex_schedule
from infra.constructs.stack import Stack
from infra.settings import Settings
from overnight.config.cron import Cron


class Training(Stack):
    """See the module."""

    name = "training"
    apis = (
        "aiplatform.googleapis.com",
        "billingbudgets.googleapis.com",
        # Also where Vertex AI is the engine: what is enabled must not depend on a field that changes in a night.
        "cloudscheduler.googleapis.com",
        "logging.googleapis.com",
        "monitoring.googleapis.com",
    )

    def __init__(self, scope: Any, settings: Settings) -> None:
        super().__init__(scope, settings)
        self._pools()
        self._schedules()
        self._tensorboard()
        self._channels()
        self._metrics()
        self._alerts()
        self._missed_windows()
        create_dashboard(self)
        create_budget(self, self.channels)

    def _pools(self) -> None:
        enabled = [pool for pool in self.google.persistent_resources if pool.enabled]
        self.output("persistent_resources", {pool.name: described(pool, create_pool(self, pool)) for pool in enabled})

    def _schedules(self) -> None:
        by_vertex = self.google.schedules.engine == "vertex_ai"
        create = create_vertex_schedule if by_vertex else create_scheduler_job
        self.pipelines = {
            "weekly": self.google.schedules.weekly,
            "monthly_tuning": self.google.schedules.monthly_tuning,
        }
        made = {name: create(self, name, pipeline) for name, pipeline in self.pipelines.items()}
        names = {name: resource.get_string_attribute("name") for name, resource in made.items()}
        self.output("schedules", {"engine": self.google.schedules.engine, **names})

    def _tensorboard(self) -> None:
        key = self.names.key("training")
        tensorboard = cdk.VertexAiTensorboard(
            self,
            "runs_tensorboard",
            display_name=self.names.prefixed("runs"),
            description="Curves of training runs.",
            region=self.google.region,
            encryption_spec=cdk.VertexAiTensorboardEncryptionSpec(kms_key_name=key)
            if self.google.cmek.enabled
            else None,
            labels=self.labels,
            lifecycle=self.kept,
        )
        self.output("tensorboard", tensorboard.name)

    def _channels(self) -> None:
        self.channels = alerts.create_channels(self, self.google.monitoring.notification_emails)
        self.output("notification_channels", [channel.id for channel in self.channels])

    def _metrics(self) -> None:
        self.metrics = create_metrics(self, all_signals(self.google.schedules, self.names))

    def _alerts(self) -> None:
        signals = {signal.name: signal for signal in job_signals()}
        failures = [signals["pipeline_failed"], signals["job_failed"]]
        alerts.on_log_entry(self, self.channels, alerts.JOB_FAILED, failures)
        for alert in (alerts.LOSS_DIVERGED, alerts.OUT_OF_MEMORY, alerts.SNAPSHOT_REJECTED):
            alerts.on_log_entry(self, self.channels, alert, [signals[alert.name]])
        alerts.on_idle_gpu(self, self.channels, self.google.monitoring.gpu_idle_minutes)

    def _missed_windows(self) -> None:
        """Only for what is started by the clock: a paused schedule misses nothing."""
        for name, pipeline in self.pipelines.items():
            if pipeline.enabled:
                signals = finished_signals(name, pipeline, self.names)
                end = Cron.parse(pipeline.cron).window_ends(pipeline.window_hours)
                counted = [self.metrics[signal.name] for signal in signals]
                alerts.on_missed_window(self, self.channels, name, signals, end, counted)
