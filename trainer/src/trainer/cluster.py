"""Who belongs to a run: the process group that a Vertex AI job's CLUSTER_SPEC describes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trainer.errors import ConfigError

TRAINING_POOLS = ("workerpool0", "workerpool1")
OTHER_POOLS = ("workerpool2", "workerpool3")
"""Parameter or reduction servers, and evaluators: they are no ranks (Vertex AI, distributed training)."""


@dataclass(frozen=True)
class Node:
    """This replica among those that train."""

    rank: int
    count: int
    master: str
    """host:port of the first replica of pool 0, where all meet."""


ALONE = Node(0, 1, "127.0.0.1:0")


@dataclass(frozen=True)
class Cluster:
    """CLUSTER_SPEC as one replica has it."""

    pools: Mapping[str, tuple[str, ...]]
    """host:port of every replica, by pool."""
    pool: str
    index: int
    job: Mapping[str, Any] = field(default_factory=dict)
    """The CustomJobSpec, as far as it could be read."""

    @property
    def name(self) -> str:
        """This replica as logs name it: `workerpool1-0`."""
        return f"{self.pool}-{self.index}"

    @property
    def trains(self) -> bool:
        """Whether this replica holds ranks."""
        return self.pool in TRAINING_POOLS

    @property
    def training_replicas(self) -> tuple[str, ...]:
        """Names of the replicas that train, in the order of their ranks."""
        return tuple(f"{pool}-{index}" for pool in TRAINING_POOLS for index in range(len(self.pools.get(pool, ()))))

    @property
    def others(self) -> int:
        """How many replicas hold no ranks."""
        return sum(len(self.pools.get(pool, ())) for pool in OTHER_POOLS)

    @property
    def node(self) -> Node:
        """The place of a replica that trains."""
        replicas = self.training_replicas
        first = next(self.pools[pool][0] for pool in TRAINING_POOLS if self.pools.get(pool))
        return Node(replicas.index(self.name), len(replicas), first)

    @property
    def gpus(self) -> int:
        """GPUs that this replica's machineSpec asks for; 0 for none, for TPUs and where no job stands there."""
        spec = self._own_pool
        machine = _either(spec, "machineSpec", "machine_spec")
        kind = str(_either(machine, "acceleratorType", "accelerator_type") or "")
        count = str(_either(machine, "acceleratorCount", "accelerator_count") or 1)
        return int(count) if kind.startswith("NVIDIA") and count.isdigit() else 0

    @property
    def image(self) -> str | None:
        """The image that the platform was asked to start this replica from; None where no job stands there."""
        container = _either(self._own_pool, "containerSpec", "container_spec")
        package = _either(self._own_pool, "pythonPackageSpec", "python_package_spec")
        image = _either(container, "imageUri", "image_uri") or _either(
            package, "executorImageUri", "executor_image_uri"
        )
        return str(image) if image else None

    @property
    def _own_pool(self) -> Any:
        """This replica's entry of workerPoolSpecs, empty where no job stands there."""
        pools = _either(self.job, "workerPoolSpecs", "worker_pool_specs")
        number = int(self.pool.removeprefix("workerpool"))
        return pools[number] if isinstance(pools, list) and number < len(pools) else {}


def cluster_from(environment: Mapping[str, str]) -> Cluster | None:
    """CLUSTER_SPEC; None where it is not set. RANK and WORLD_SIZE of the platform count nodes and are not read.

    Raises ConfigError when it cannot be read or has no place for this replica.
    """
    text = environment.get("CLUSTER_SPEC", "")
    if not text:
        return None
    try:
        spec = json.loads(text)
        pools = {str(name): tuple(str(host) for host in hosts) for name, hosts in spec["cluster"].items()}
        pool, index = str(spec["task"]["type"]), int(spec["task"]["index"])
        for name in TRAINING_POOLS:
            for host in pools.get(name, ()):
                int(host.rpartition(":")[2])  # a port, where launchers meet
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"this is not a cluster description ({type(error).__name__}: {error})",
            where="CLUSTER_SPEC",
            remedy="unset it to train on this machine alone",
        ) from None
    known = pool in TRAINING_POOLS and 0 <= index < len(pools.get(pool, ()))
    if not known and pool not in OTHER_POOLS:
        raise ConfigError(
            f"{pool} replica {index} is none of the replicas that it lists",
            where="CLUSTER_SPEC",
            remedy="leave it as Vertex AI sets it",
        )
    return Cluster(pools, pool, index, _job(spec.get("job")))


def _job(value: Any) -> Mapping[str, Any]:
    """The job is a JSON text inside JSON. It only adds to what is known, so one that cannot be read is no error."""
    try:
        job = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return job if isinstance(job, dict) else {}


def _either(value: Any, camel: str, snake: str) -> Any:
    """A field of a message that is JSON in the API's spelling or in protobuf's."""
    return value.get(camel, value.get(snake)) if isinstance(value, Mapping) else None
