"""A job in its JSON form, read through names: pools, machines, tasks, with the API's defaults filled in.

Everything here expects the form to be right (overnight.jobs.message) and fills what is absent with the default
that Vertex AI takes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from overnight.jobs.document import FieldPath
from overnight.machines import Machine, region_suggestion
from overnight.machines import machine as find_machine

Kind = Literal["customJob", "hyperparameterTuningJob"]
KINDS: tuple[Kind, ...] = ("customJob", "hyperparameterTuningJob")
TASKS = ("containerSpec", "pythonPackageSpec")
NO_STRATEGY = "STRATEGY_UNSPECIFIED"
REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")


@dataclass(frozen=True)
class PoolView:
    """One entry of workerPoolSpecs; an empty one is a placeholder."""

    index: int
    path: FieldPath
    data: dict[str, Any]

    def at(self, *names: str | int) -> FieldPath:
        """The path of a field under the pool."""
        return (*self.path, *names)

    @property
    def replicas(self) -> int:
        """0 for a placeholder, 1 where nothing is said."""
        return int(self.data.get("replicaCount", 1)) if self.data else 0

    @property
    def machine_spec(self) -> dict[str, Any]:
        """The machineSpec, empty when absent."""
        return dict(self.data.get("machineSpec", {}))

    @property
    def machine_type(self) -> str | None:
        """The machine type's name."""
        return self.machine_spec.get("machineType") or None

    @property
    def machine(self) -> Machine | None:
        """What the table knows of the machine type."""
        return find_machine(self.machine_type) if self.machine_type else None

    @property
    def accelerator(self) -> str | None:
        """The accelerator's type; None when unspecified."""
        name = self.machine_spec.get("acceleratorType")
        return None if name in (None, "ACCELERATOR_TYPE_UNSPECIFIED") else str(name)

    @property
    def accelerator_count(self) -> int:
        """Accelerators a replica; 0 where nothing is said."""
        return int(self.machine_spec.get("acceleratorCount", 0))

    @property
    def topology(self) -> str | None:
        """The TPU slice, such as 2x4."""
        return self.machine_spec.get("tpuTopology") or None

    @property
    def is_tpu(self) -> bool:
        """Whether it asks for TPUs in any way."""
        known = self.machine is not None and self.machine.is_tpu
        return known or self.topology is not None or (self.accelerator or "").startswith("TPU_")

    @property
    def has_gpu(self) -> bool:
        """Whether it asks for GPUs."""
        return self.accelerator is not None and not self.accelerator.startswith("TPU_")

    @property
    def hardware(self) -> tuple[str | None, str | None, int, str | None, str | None]:
        """What two pools must share to be of the same machines."""
        partition = self.machine_spec.get("gpuPartitionSize")
        return (self.machine_type, self.accelerator, self.accelerator_count, self.topology, partition)

    @property
    def reservation(self) -> str:
        """The reservation affinity's type; NO_RESERVATION where nothing is said."""
        affinity = self.machine_spec.get("reservationAffinity", {})
        kind = str(affinity.get("reservationAffinityType", "TYPE_UNSPECIFIED"))
        return "NO_RESERVATION" if kind == "TYPE_UNSPECIFIED" else kind

    @property
    def disk(self) -> tuple[str, int]:
        """Boot disk type and size in GB; DiskSpec's defaults are pd-ssd and 100."""
        spec = self.data.get("diskSpec", {})
        return (spec.get("bootDiskType") or "pd-ssd", int(spec.get("bootDiskSizeGb", 100)))

    @property
    def task_name(self) -> str | None:
        """containerSpec or pythonPackageSpec, whichever is given."""
        return next((name for name in TASKS if name in self.data), None)

    @property
    def task(self) -> dict[str, Any]:
        """The task's fields, empty when there is none."""
        return dict(self.data.get(self.task_name, {})) if self.task_name else {}

    @property
    def image_field(self) -> str:
        """The task's field that holds the image."""
        return "executorImageUri" if self.task_name == "pythonPackageSpec" else "imageUri"

    @property
    def image(self) -> str:
        """The image reference, empty when absent."""
        return str(self.task.get(self.image_field, ""))

    @property
    def words(self) -> list[str]:
        """Command and arguments, one after the other."""
        return [*self.task.get("command", []), *self.task.get("args", [])]

    @property
    def is_reduction_server(self) -> bool:
        """Whether it runs Google's Reduction Server image."""
        return "/reductionserver" in self.image


@dataclass(frozen=True)
class JobView:
    """A CustomJob, or a HyperparameterTuningJob seen through its trials."""

    kind: Kind
    data: dict[str, Any]
    default_region: str | None = None
    """The environment's region."""
    named_region: str | None = None
    """The region that the spec names itself, as it stands there."""
    deadline_seconds: int | None = None
    subsample: float | None = None
    """Share of the training groups that a trial sees."""

    @property
    def region(self) -> str | None:
        """Where it would run; None when that is unknown, or no region at all."""
        if self.named_region is None:
            return self.default_region
        known = REGION.fullmatch(self.named_region) and not region_suggestion(self.named_region)
        return self.named_region if known else None

    @property
    def path(self) -> FieldPath:
        """The path of the job message."""
        return (self.kind,)

    @property
    def spec_field(self) -> str:
        """The field of the message that holds the CustomJobSpec."""
        return "trialJobSpec" if self.kind == "hyperparameterTuningJob" else "jobSpec"

    @property
    def spec_path(self) -> FieldPath:
        """The path of the CustomJobSpec."""
        return (self.kind, self.spec_field)

    def at(self, *names: str | int) -> FieldPath:
        """The path of a field under the CustomJobSpec."""
        return (*self.spec_path, *names)

    @property
    def spec(self) -> dict[str, Any]:
        """The CustomJobSpec, empty when absent."""
        return dict(self.data.get(self.spec_field, {}))

    @property
    def region_path(self) -> FieldPath:
        """The field that says the region, if any does."""
        return ("overnight", "region") if self.named_region else ("overnight",)

    @cached_property
    def all_pools(self) -> tuple[PoolView, ...]:
        """Every pool, placeholders too."""
        pools = self.spec.get("workerPoolSpecs", [])
        return tuple(PoolView(index, self.at("workerPoolSpecs", index), pool) for index, pool in enumerate(pools))

    @cached_property
    def pools(self) -> tuple[PoolView, ...]:
        """The pools that are more than placeholders."""
        return tuple(pool for pool in self.all_pools if pool.data)

    @property
    def workers(self) -> tuple[PoolView, ...]:
        """Primary and workers: what takes part in an all-reduce."""
        return tuple(pool for pool in self.pools if pool.index < 2 and not pool.is_reduction_server)

    @property
    def worker_replicas(self) -> int:
        """Machines that train."""
        return sum(pool.replicas for pool in self.workers)

    @property
    def replicas(self) -> int:
        """Machines of all pools."""
        return sum(pool.replicas for pool in self.pools)

    @property
    def reduction_servers(self) -> Iterator[PoolView]:
        """Pools that run the Reduction Server, wherever they stand."""
        return (pool for pool in self.pools if pool.is_reduction_server)

    @property
    def scheduling(self) -> dict[str, Any]:
        """The scheduling section, empty when absent."""
        return dict(self.spec.get("scheduling", {}))

    @property
    def strategy(self) -> str:
        """The strategy; STANDARD where nothing is said (Scheduling.Strategy)."""
        name = str(self.scheduling.get("strategy", NO_STRATEGY))
        return "STANDARD" if name == NO_STRATEGY else name

    def seconds(self, field: str) -> float | None:
        """A Duration under scheduling, in seconds."""
        text = self.scheduling.get(field)
        return None if text is None else float(str(text).removesuffix("s"))

    @property
    def persistent_resource(self) -> str | None:
        """The persistent resource that it runs on."""
        return self.spec.get("persistentResourceId") or None

    @property
    def output(self) -> str | None:
        """The output prefix; None without baseOutputDirectory."""
        prefix = self.spec.get("baseOutputDirectory", {}).get("outputUriPrefix")
        return None if prefix is None else str(prefix)

    @property
    def service_account(self) -> str | None:
        """The custom service account."""
        return self.spec.get("serviceAccount") or None

    @property
    def parallel_trials(self) -> int:
        """How many copies of the job run at once: 1 unless it is tuned."""
        return max(1, int(self.data.get("parallelTrialCount", 1))) if self.kind != "customJob" else 1

    @property
    def is_for_the_cloud(self) -> bool:
        """A job of which no pool names a machine runs as processes of this machine: a local spec."""
        return any("machineSpec" in pool.data for pool in self.pools)
