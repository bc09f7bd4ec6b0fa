"""Who belongs to a run: the process group that a Vertex AI job's CLUSTER_SPEC describes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from trainer.errors import ConfigError

TRAINING_POOLS = ("workerpool0", "workerpool1")
"""Pool 2 holds reduction servers and pool 3 evaluators: they are no ranks (Vertex AI, distributed training)."""


@dataclass(frozen=True)
class Node:
    """This replica among those that train."""

    rank: int
    count: int
    master: str
    """host:port of the first replica of pool 0, where ranks meet."""


def node_from(environment: Mapping[str, str]) -> Node:
    """This node's place as CLUSTER_SPEC has it; a node of its own where it is not set.

    RANK and WORLD_SIZE of the platform are ignored: they count nodes, not processes. Raises ConfigError
    when CLUSTER_SPEC cannot be read or this replica is in a pool that does not train.
    """
    text = environment.get("CLUSTER_SPEC", "")
    if not text:
        return Node(0, 1, "127.0.0.1:0")
    try:
        spec = json.loads(text)
        pools = {name: list(hosts) for name, hosts in spec["cluster"].items()}
        pool, index = str(spec["task"]["type"]), int(spec["task"]["index"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"this is not a cluster description ({type(error).__name__}: {error})",
            where="CLUSTER_SPEC",
            remedy="unset it to train on this machine alone",
        ) from None
    nodes = [(name, position) for name in TRAINING_POOLS for position in range(len(pools.get(name, [])))]
    if (pool, index) not in nodes:
        raise ConfigError(
            f"{pool} replica {index} is none of the {len(nodes)} that train",
            where="CLUSTER_SPEC",
            remedy="run the trainer in worker pools 0 and 1 only",
        )
    first_pool, first_index = nodes[0]
    return Node(nodes.index((pool, index)), len(nodes), str(pools[first_pool][first_index]))
