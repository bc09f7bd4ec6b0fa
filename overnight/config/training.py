"""The Vertex AI side of an environment: pools, schedules, alerts, budget; fields are named as Terraform names them."""

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from overnight.config.cron import Cron
from overnight.config.section import Section, distinct


def _day(value: Any) -> date:
    """A day, also in quotes; a moment or a number is not one."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(f"{value} is not a day; give one such as 2027-06-30") from None


Email = Annotated[
    str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$", description="an e-mail address, such as oncall@example.com")
]
TEMPLATE_URI = r"^https://[a-z]+-[a-z]+[0-9]+-kfp\.pkg\.dev/[a-z0-9-]+/[a-z0-9-]+/[a-z0-9-]+/sha256:[0-9a-f]{64}$"
Day = Annotated[date, BeforeValidator(_day)]
Threshold = Annotated[float, Field(gt=0, le=2, description="a share of the amount, above 0 and up to 2")]


class MachineSpec(Section):
    """As in Vertex AI's MachineSpec; the table of machines decides which combinations exist."""

    machine_type: str = Field(description="a machine type that Vertex AI trains on, such as a2-highgpu-1g")
    accelerator_type: str | None = Field(default=None, description="an AcceleratorType, such as NVIDIA_TESLA_A100")
    accelerator_count: int | None = Field(default=None, ge=1, le=16, description="a count, 1 to 16")

    @model_validator(mode="after")
    def _both_or_none(self) -> "MachineSpec":
        if (self.accelerator_type is None) != (self.accelerator_count is None):
            raise ValueError("accelerator_type and accelerator_count go together; give both, or neither")
        return self


class AutoscalingSpec(Section):
    """Bounds between which the service adds and removes replicas."""

    min_replica_count: int = Field(ge=1, le=1000, description="at least 1 replica: only Ray clusters may go down to 0")
    max_replica_count: int = Field(ge=1, le=1000, description="more replicas than min_replica_count, up to 1000")

    @model_validator(mode="after")
    def _a_range(self) -> "AutoscalingSpec":
        if self.max_replica_count <= self.min_replica_count:
            raise ValueError(
                f"max_replica_count {self.max_replica_count} is not more than min_replica_count "
                f"{self.min_replica_count}; give more, or replica_count instead of autoscaling_spec"
            )
        return self


class DiskSpec(Section):
    """The boot disk of each replica; a job must ask for exactly the same to be placed on the pool."""

    boot_disk_type: Literal["pd-ssd", "pd-standard", "hyperdisk-balanced"] = "pd-ssd"
    boot_disk_size_gb: int = Field(default=100, ge=100, le=64000, description="a size of 100 to 64000 GB")


class ResourcePool(Section):
    """Machines of one kind; `replica_count` or `autoscaling_spec`, not both."""

    machine_spec: MachineSpec
    replica_count: int | None = Field(default=None, ge=1, le=1000, description="at least 1 replica, or remove the pool")
    autoscaling_spec: AutoscalingSpec | None = None
    disk_spec: DiskSpec = DiskSpec()
    usd_per_replica_hour: float = Field(
        gt=0, description="US dollars for one replica and hour with the service's fee, from your price list"
    )
    """Prices change: none is built in."""

    @model_validator(mode="after")
    def _one_size(self) -> "ResourcePool":
        if (self.replica_count is None) == (self.autoscaling_spec is None):
            if self.replica_count is None:
                raise ValueError("neither replica_count nor autoscaling_spec is given; give one of them")
            raise ValueError("replica_count and autoscaling_spec are both given; give one of them")
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
        description="a name of lower-case letters, digits and hyphens, such as night-a100-v1",
    )
    """Nearly every change replaces the pool: carry a version in the name, make the new one, then drop the old one."""
    enabled: bool = True
    owner: Email
    """Who is asked when it stands idle. It is an output, not a label: a changed label would destroy the pool."""
    expires: Day = Field(description="the day until which it is wanted, such as 2027-06-30")
    """After this day the configuration is refused until someone decides again."""
    resource_pools: list[ResourcePool] = Field(min_length=1, description="at least one pool")
    prices_as_of: Day = Field(description="the day on which usd_per_replica_hour was read, such as 2026-11-01")
    max_idle_usd_per_day: float = Field(gt=0, description="the most US dollars that a day without jobs may cost")

    @property
    def idle_usd_per_day(self) -> float:
        """What the pools cost in 24 hours with no job on them."""
        return 24 * sum(pool.billed_replicas * pool.usd_per_replica_hour for pool in self.resource_pools)


class ScheduledPipeline(Section):
    """A pipeline template started by the clock."""

    enabled: bool = True
    cron: str = Field(description="five fields after an explicit time zone, such as CRON_TZ=Europe/Paris 0 20 * * 5")
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
    def _a_schedule(cls, value: str) -> str:
        Cron.parse(value)
        return value


class WeeklyPipeline(ScheduledPipeline):
    """The retrain: one night a week."""

    @field_validator("cron")
    @classmethod
    def _once_a_week(cls, value: str) -> str:
        if not Cron.parse(value).once_a_week:
            raise ValueError(
                f"{value!r} does not start exactly once a week; "
                "give one minute, one hour and one weekday, such as CRON_TZ=Europe/Paris 0 20 * * 5"
            )
        return value


class MonthlyPipeline(ScheduledPipeline):
    """The tuning study: one night a month."""

    @field_validator("cron")
    @classmethod
    def _once_a_month(cls, value: str) -> str:
        if not Cron.parse(value).once_a_month:
            raise ValueError(
                f"{value!r} does not start exactly once a month; "
                "give one minute, one hour and one day from 1 to 28, such as CRON_TZ=Europe/Paris 0 20 1 * *"
            )
        return value

    @model_validator(mode="after")
    def _ends_on_a_day_that_every_month_has(self) -> "MonthlyPipeline":
        Cron.parse(self.cron).window_ends(self.window_hours)
        return self


class SchedulesConfig(Section):
    """The weekly retrain and the monthly tuning study."""

    engine: Literal["vertex_ai", "cloud_scheduler"] = "vertex_ai"
    """`cloud_scheduler`: typed parameters, but no guard against overlap, and at-least-once starts (docs/infra.md)."""
    weekly: WeeklyPipeline
    monthly_tuning: MonthlyPipeline


class MonitoringConfig(Section):
    """Who hears of a bad night."""

    notification_emails: Annotated[list[Email], AfterValidator(distinct)] = Field(
        min_length=1, description="at least one e-mail address"
    )
    gpu_idle_minutes: int = Field(default=30, ge=10, le=720, description="minutes, 10 to 720")


class BudgetConfig(Section):
    """Spending of the project that someone should hear of; a budget alerts, it stops nothing."""

    billing_account: str = Field(
        pattern=r"^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$",
        description="a billing account's id, such as 01A2B3-C4D5E6-F7A8B9",
    )
    amount: int = Field(ge=1, description="whole units of the currency for a month")
    currency_code: str = Field(pattern=r"^[A-Z]{3}$", description="an ISO 4217 code, such as EUR")
    thresholds: list[Threshold] = Field(
        default=[0.5, 0.8, 1.0],
        min_length=1,
        description="shares of the amount in rising order, such as [0.5, 0.8, 1.0]",
    )

    @field_validator("thresholds")
    @classmethod
    def _rising(cls, value: list[float]) -> list[float]:
        if sorted(set(value)) != value:
            raise ValueError("the thresholds do not rise; write them such as [0.5, 0.8, 1.0]")
        return value
