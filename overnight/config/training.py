"""The Vertex AI side of an environment: pools, schedules, alerts, budget; fields are named as Terraform names them."""

import re
from datetime import date
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import Field, field_validator, model_validator

from overnight.config.section import Section

Email = Annotated[
    str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", description="an e-mail address, such as oncall@example.com")
]
TEMPLATE_URI = r"^https://[a-z]+-[a-z]+[0-9]+-kfp\.pkg\.dev/[a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+/sha256:[0-9a-f]{64}$"
CRON_FIELD = re.compile(r"^[0-9A-Za-z*/,-]+$")


class MachineSpec(Section):
    """As in Vertex AI's MachineSpec; the table of machines decides which combinations exist."""

    machine_type: str = Field(description="a machine type that Vertex AI trains on, such as a2-highgpu-1g")
    accelerator_type: str | None = Field(default=None, description="an AcceleratorType, such as NVIDIA_TESLA_A100")
    accelerator_count: int | None = Field(default=None, ge=1, le=16, description="a count, 1 to 16")

    @model_validator(mode="after")
    def _both_or_none(self) -> "MachineSpec":
        if (self.accelerator_type is None) != (self.accelerator_count is None):
            raise ValueError("give accelerator_type and accelerator_count both, or neither")
        return self


class AutoscalingSpec(Section):
    """Bounds between which the service adds and removes replicas."""

    min_replica_count: int = Field(ge=1, le=1000, description="at least 1: only Ray clusters may go down to 0")
    max_replica_count: int = Field(ge=1, le=1000, description="more than min_replica_count")

    @model_validator(mode="after")
    def _a_range(self) -> "AutoscalingSpec":
        if self.max_replica_count <= self.min_replica_count:
            raise ValueError("max_replica_count must be more than min_replica_count; or set replica_count alone")
        return self


class DiskSpec(Section):
    """The boot disk of each replica; a job must ask for exactly the same to be placed on the pool."""

    boot_disk_type: Literal["pd-ssd", "pd-standard", "hyperdisk-balanced"] = "pd-ssd"
    boot_disk_size_gb: int = Field(default=100, ge=100, le=64000, description="GB, 100 to 64000")


class ResourcePool(Section):
    """Machines of one kind; `replica_count` or `autoscaling_spec`, not both."""

    machine_spec: MachineSpec
    replica_count: int | None = Field(default=None, ge=1, le=1000, description="replicas, at least 1")
    autoscaling_spec: AutoscalingSpec | None = None
    disk_spec: DiskSpec = DiskSpec()
    usd_per_replica_hour: float = Field(
        gt=0, description="US dollars a replica and hour with the service's fee, from your price list"
    )
    """Prices change: none is built in."""

    @model_validator(mode="after")
    def _one_size(self) -> "ResourcePool":
        if (self.replica_count is None) == (self.autoscaling_spec is None):
            raise ValueError("give either replica_count or autoscaling_spec")
        return self

    @property
    def billed_replicas(self) -> int:
        """Replicas that are paid for when nothing runs."""
        return self.replica_count if self.autoscaling_spec is None else self.autoscaling_spec.min_replica_count  # type: ignore[return-value]

    @property
    def most_replicas(self) -> int:
        """Replicas that can be paid for at once."""
        return self.replica_count if self.autoscaling_spec is None else self.autoscaling_spec.max_replica_count  # type: ignore[return-value]


class PersistentResource(Section):
    """A pool of machines kept warm for jobs; billed while it exists, idle or not."""

    name: str = Field(
        pattern=r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$",
        description="lower-case letters, digits and hyphens, starting with a letter, such as night-a100-v1",
    )
    """Nearly every change replaces the pool: carry a version in the name, make the new one, then drop the old one."""
    enabled: bool = True
    owner: Email
    """Who is asked when it stands idle. It is an output, not a label: a changed label would destroy the pool."""
    expires: date = Field(description="a day, such as 2027-06-30")
    """After this day the configuration is refused until someone decides again."""
    resource_pools: list[ResourcePool] = Field(min_length=1, description="at least one pool")
    prices_as_of: date = Field(description="the day usd_per_replica_hour was read, such as 2026-11-01")
    max_idle_usd_per_day: float = Field(gt=0, description="US dollars; an idle day that costs more is refused")

    @property
    def idle_usd_per_day(self) -> float:
        """What the pools cost in 24 hours with no job on them."""
        return 24 * sum(pool.billed_replicas * pool.usd_per_replica_hour for pool in self.resource_pools)


class ScheduledPipeline(Section):
    """A pipeline template started by the clock."""

    enabled: bool = True
    cron: str = Field(description="five fields after an explicit time zone, such as CRON_TZ=Europe/Paris 0 22 * * 5")
    template_uri: str = Field(
        pattern=TEMPLATE_URI,
        description="a template pinned by digest: https://REGION-kfp.pkg.dev/PROJECT/REPO/NAME/sha256:<64 hex digits>",
    )
    parameter_values: dict[str, str] = {}
    """Strings only: Terraform's resource carries no other type."""
    max_concurrent_run_count: Literal[1] = Field(default=1, description="1: two retrains of one week must not overlap")
    window_hours: int = Field(default=12, ge=1, le=23, description="hours, 1 to 23")
    """The run must have ended by then; an alert says so when it has not."""

    @field_validator("cron")
    @classmethod
    def _a_zone_and_five_fields(cls, value: str) -> str:
        zone, _, fields = value.partition(" ")
        if not zone.startswith(("CRON_TZ=", "TZ=")):
            raise ValueError("the time zone is missing; begin with one, such as CRON_TZ=Europe/Paris 0 22 * * 5")
        if zone.partition("=")[2] not in available_timezones():
            raise ValueError(f"{zone.partition('=')[2]!r} is not an IANA time zone; write one such as Europe/Paris")
        parts = fields.split()
        if len(parts) != 5 or not all(CRON_FIELD.match(part) for part in parts):
            raise ValueError(
                f"a cron schedule has five fields (minute hour day month weekday), this has {len(parts)}; "
                "write it such as CRON_TZ=Europe/Paris 0 22 * * 5"
            )
        return value


class SchedulesConfig(Section):
    """The weekly retrain and the monthly tuning study."""

    engine: Literal["vertex_ai", "cloud_scheduler"] = "vertex_ai"
    """`cloud_scheduler`: typed parameters, but no guard against overlap, and at-least-once starts (docs/infra.md)."""
    weekly: ScheduledPipeline
    monthly_tuning: ScheduledPipeline


class MonitoringConfig(Section):
    """Who hears of a bad night."""

    notification_emails: list[Email] = Field(min_length=1, description="at least one e-mail address")
    gpu_idle_minutes: int = Field(default=30, ge=10, le=720, description="minutes, 10 to 720")


class BudgetConfig(Section):
    """Spending of the project that someone should hear of; a budget alerts, it stops nothing."""

    billing_account: str = Field(
        pattern=r"^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", description="such as 01A2B3-C4D5E6-F7A8B9"
    )
    amount: int = Field(ge=1, description="whole units of the currency a month")
    currency_code: str = Field(pattern=r"^[A-Z]{3}$", description="an ISO 4217 code, such as EUR")
    thresholds: list[Annotated[float, Field(gt=0, le=2)]] = Field(
        default=[0.5, 0.8, 1.0], min_length=1, description="shares of the amount, above 0, in rising order"
    )

    @field_validator("thresholds")
    @classmethod
    def _rising(cls, value: list[float]) -> list[float]:
        if sorted(set(value)) != value:
            raise ValueError("thresholds must rise; write them such as [0.5, 0.8, 1.0]")
        return value
