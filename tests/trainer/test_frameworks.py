"""TF_CONFIG says what CLUSTER_SPEC says; JAX gets its arguments; the platform's RANK is replaced."""

import json
from typing import Any

import pytest

from trainer.cluster import Cluster
from trainer.errors import ConfigError
from trainer.frameworks import (
    Group,
    check_processes,
    check_tf_config,
    has_parameter_servers,
    jax_environments,
    replaced,
    torch_environments,
)
from trainer.jax_start import initialize_arguments

POOLS = {"workerpool0": ("a:2222",), "workerpool1": ("b:2222", "c:2222")}
SERVED = {**POOLS, "workerpool2": ("d:2222",), "workerpool3": ("e:2222",)}
ROLES = {"chief": ["a:2222"], "worker": ["b:2222", "c:2222"]}


def tf_config(cluster: Any, kind: str, index: int) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


@pytest.mark.parametrize(
    ("cluster", "environment"),
    [
        (Cluster(POOLS, "workerpool0", 0), tf_config(ROLES, "chief", 0)),
        (Cluster(POOLS, "workerpool1", 1), tf_config(ROLES, "worker", 1)),
        (Cluster(SERVED, "workerpool2", 0), tf_config({**ROLES, "ps": ["d:2222"]}, "ps", 0)),
        (Cluster(SERVED, "workerpool3", 0), tf_config({**ROLES, "ps": ["d:2222"]}, "evaluator", 0)),
        (Cluster(SERVED, "workerpool0", 0), tf_config(ROLES, "chief", 0)),
        (Cluster({"workerpool0": ("a:2222",)}, "workerpool0", 0), {}),
        (None, {}),
    ],
)
def test_tf_config_as_vertex_ai_sets_it_passes(cluster: Cluster | None, environment: dict[str, str]) -> None:
    check_tf_config(environment, cluster)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "3 replicas and this is not set"),
        ({"TF_CONFIG": "{"}, "not a cluster description"),
        ({"TF_CONFIG": "[]"}, "not a cluster description"),
        (tf_config([], "chief", 0), "no objects"),
        (tf_config({**ROLES, "worker": ["b:2222"]}, "chief", 0), "worker is"),
        (tf_config({"chief": ["a:2222"]}, "chief", 0), "2 replicas of workerpool1 are not in it"),
        (tf_config({**ROLES, "evaluator": ["e:2222"]}, "chief", 0), "an evaluator is never part"),
        (tf_config(ROLES, "worker", 0), "takes workerpool0-0 for worker 0"),
        (tf_config(ROLES, "chief", 1), "takes workerpool0-0 for chief 1"),
    ],
)
def test_a_tf_config_that_says_something_else_is_one_sentence(environment: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        check_tf_config(environment, Cluster(POOLS, "workerpool0", 0))
    assert caught.value.where == "TF_CONFIG"


def test_parameter_servers_are_told_by_tf_config() -> None:
    assert has_parameter_servers(tf_config({**ROLES, "ps": ["d:2222"]}, "chief", 0))
    assert not has_parameter_servers(tf_config(ROLES, "chief", 0))
    assert not has_parameter_servers({})


def test_tensorflow_has_one_process_a_machine() -> None:
    check_processes("tensorflow", 1)
    check_processes("torch", 8)
    with pytest.raises(ConfigError, match="one process a replica"):
        check_processes("tensorflow", 2)


def test_the_platforms_variables_are_replaced_and_named() -> None:
    base = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_PORT": "2222", "HOME": "/root"}
    environments = torch_environments(base, Group(1, 2, 4, "chief", 29500))
    assert [each["RANK"] for each in environments] == ["4", "5", "6", "7"]
    sentence = replaced(base, environments)
    assert sentence is not None
    assert sentence.startswith("RANK=1, WORLD_SIZE=2, MASTER_PORT=2222 of the platform: replaced")
    assert replaced({"HOME": "/root"}, environments) is None


def test_jax_gets_all_devices_of_the_machine_or_one_a_process() -> None:
    (one,) = jax_environments({}, Group(1, 2, 1, "chief", 29500))
    assert initialize_arguments(one) == {"coordinator_address": "chief:29500", "num_processes": 2, "process_id": 1}
    second = jax_environments({"TRAINER_JOIN_SECONDS": "2700.0"}, Group(0, 1, 2, "127.0.0.1", 29500))[1]
    assert initialize_arguments(second) == {
        "coordinator_address": "127.0.0.1:29500",
        "num_processes": 2,
        "process_id": 1,
        "local_device_ids": [1],
        "initialization_timeout": 2700,
    }


def test_jax_alone_joins_nobody() -> None:
    (alone,) = jax_environments({}, Group(0, 1, 1, "127.0.0.1", 29500))
    assert initialize_arguments(alone) is None
    assert initialize_arguments({}) is None
