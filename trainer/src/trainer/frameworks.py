"""What each framework wants to know of the process group: pure functions from CLUSTER_SPEC to environments."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from trainer.cluster import Cluster
from trainer.errors import ConfigError

Framework = Literal["torch", "tensorflow", "jax"]
FRAMEWORKS: tuple[Framework, ...] = ("torch", "tensorflow", "jax")

_TORCH_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_POOL_OF_ROLE = {"chief": 0, "master": 0, "worker": 1, "ps": 2, "evaluator": 3}


@dataclass(frozen=True)
class Group:
    """This node's processes among those of the run."""

    node: int
    nodes: int
    processes: int
    """On each node."""
    host: str
    port: int
    """Where the ranks meet: a free port of the primary."""

    @property
    def world_size(self) -> int:
        """Processes of the run."""
        return self.nodes * self.processes

    def ranks(self) -> range:
        """Of this node's processes, in local order."""
        return range(self.node * self.processes, (self.node + 1) * self.processes)


def torch_environments(base: Mapping[str, str], group: Group) -> list[dict[str, str]]:
    """`base` and what `init_process_group()` and torchrun's scripts read, for each process of this node.

    TRAINER_* say the same to our own trainer, which so never takes the platform's RANK for its own.
    """
    return [
        {
            **base,
            "RANK": str(rank),
            "LOCAL_RANK": str(local),
            "WORLD_SIZE": str(group.world_size),
            "LOCAL_WORLD_SIZE": str(group.processes),
            "GROUP_RANK": str(group.node),
            "NODE_RANK": str(group.node),
            "MASTER_ADDR": group.host,
            "MASTER_PORT": str(group.port),
            "TRAINER_RANK": str(rank),
            "TRAINER_LOCAL_RANK": str(local),
            "TRAINER_WORLD_SIZE": str(group.world_size),
            "TRAINER_MASTER": f"{group.host}:{group.port}",
        }
        for local, rank in enumerate(group.ranks())
    ]


def jax_environments(base: Mapping[str, str], group: Group) -> list[dict[str, str]]:
    """`base` and what `trainer.jax_start` hands to `jax.distributed.initialize`, for each process of this node.

    JAX itself reads only the address and the device ids (jax/_src/distributed.py); the other two are of the same form.
    """
    return [
        {
            **base,
            "JAX_COORDINATOR_ADDRESS": f"{group.host}:{group.port}",
            "JAX_NUM_PROCESSES": str(group.world_size),
            "JAX_PROCESS_ID": str(rank),
            # One process sees all devices of its machine, as JAX does by itself.
            **({"JAX_LOCAL_DEVICE_IDS": str(local)} if group.processes > 1 else {}),
        }
        for local, rank in enumerate(group.ranks())
    ]


def replaced(base: Mapping[str, str], environments: list[dict[str, str]]) -> str | None:
    """One sentence on variables of the platform that a process of torch must not see; None where there are none."""
    wrong = [name for name in _TORCH_NAMES if name in base and any(base[name] != env[name] for env in environments)]
    if not wrong:
        return None
    said = ", ".join(f"{name}={base[name]}" for name in wrong)
    return f"{said} of the platform: replaced, because they count machines and not processes"


def check_processes(framework: Framework, processes: int) -> None:
    """Raise ConfigError where the framework cannot have so many processes on a machine."""
    if framework == "tensorflow" and processes != 1:
        raise ConfigError(
            f"TF_CONFIG knows one process a replica, not {processes}",
            where="--nproc-per-node",
            remedy="give 1: one process uses all GPUs of its machine",
        )


def has_parameter_servers(environment: Mapping[str, str]) -> bool:
    """Whether TF_CONFIG has them: then training is asynchronous, and a lost worker does not end the others."""
    return bool(_tf_config(environment).get("cluster", {}).get("ps"))


def check_tf_config(environment: Mapping[str, str], cluster: Cluster | None) -> None:
    """Raise ConfigError unless TF_CONFIG says what CLUSTER_SPEC says; both absent is a machine of its own."""
    config = _tf_config(environment)
    if cluster is None:
        return
    replicas = sum(len(hosts) for hosts in cluster.pools.values())
    if not config:
        if replicas > 1:
            said = f"CLUSTER_SPEC has {replicas} replicas and this is not set: each would train a model of its own"
            raise _misfit(said)
        return
    pools = config.get("cluster", {})
    if "evaluator" in pools:
        raise _misfit("an evaluator is never part of the cluster: the workers would wait for it")
    for role, pool in _POOL_OF_ROLE.items():
        ours = [_host(address) for address in cluster.pools.get(f"workerpool{pool}", ())]
        # Whether reduction servers, which stand in pool 2, are listed as ps is not documented.
        if role in pools and [_host(str(address)) for address in pools[role]] != ours:
            raise _misfit(f"{role} is {pools[role]}, where CLUSTER_SPEC has {ours} in workerpool{pool}")
    if cluster.pools.get("workerpool1") and "worker" not in pools:
        raise _misfit(f"the {len(cluster.pools['workerpool1'])} replicas of workerpool1 are not in it as worker")
    task = config.get("task", {})
    pool_number = _POOL_OF_ROLE.get(str(task.get("type")))
    if f"workerpool{pool_number}" != cluster.pool or int(task.get("index", -1)) != cluster.index:
        raise _misfit(f"it takes {cluster.name} for {task.get('type')} {task.get('index')}")


def _tf_config(environment: Mapping[str, str]) -> dict[str, Any]:
    text = environment.get("TF_CONFIG", "")
    try:
        value = json.loads(text) if text else {}
        sections = (value.get("cluster", {}), value.get("task", {}))
        if not all(isinstance(section, dict) for section in sections):
            raise _misfit("cluster and task are no objects")
        int(sections[1].get("index", 0))
    except (ValueError, TypeError, AttributeError):
        raise _misfit("this is not a cluster description") from None
    return dict(value)


def _host(address: str) -> str:
    return address.rpartition(":")[0] or address


def _misfit(said: str) -> ConfigError:
    return ConfigError(said, where="TF_CONFIG", remedy="leave it as Vertex AI sets it")
