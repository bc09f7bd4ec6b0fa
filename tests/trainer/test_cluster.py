"""Ranks come from CLUSTER_SPEC, as Vertex AI sets it, and from nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.cluster import Node, cluster_from
from trainer.errors import ConfigError
from trainer.frameworks import Group, torch_environments


def spec(pool: str, index: int, workers: int = 2, job: Any = "{}", **others: list[str]) -> dict[str, str]:
    cluster = {"workerpool0": ["chief:2222"], "workerpool1": [f"worker-{n}:2222" for n in range(workers)], **others}
    value = {"cluster": cluster, "environment": "cloud", "task": {"type": pool, "index": index}, "job": job}
    return {"CLUSTER_SPEC": json.dumps(value)}


def node(environment: dict[str, str]) -> Node:
    cluster = cluster_from(environment)
    assert cluster is not None
    return cluster.node


def test_pool_0_is_rank_0_and_pool_1_follows() -> None:
    assert node(spec("workerpool0", 0)) == Node(0, 3, "chief:2222")
    assert node(spec("workerpool1", 1)) == Node(2, 3, "chief:2222")


def test_reducers_and_evaluators_are_no_ranks() -> None:
    others = {"workerpool2": ["reducer-0:2222", "reducer-1:2222"], "workerpool3": ["evaluator:2222"]}
    assert node(spec("workerpool1", 0, **others)).count == 3
    reducer = cluster_from(spec("workerpool2", 1, **others))
    assert reducer is not None
    assert (reducer.name, reducer.trains, reducer.others) == ("workerpool2-1", False, 3)


def test_the_platforms_rank_and_world_size_are_ignored() -> None:
    assert node(spec("workerpool1", 0) | {"RANK": "7", "WORLD_SIZE": "99"}) == Node(1, 3, "chief:2222")


def test_without_a_cluster_the_machine_is_alone() -> None:
    assert cluster_from({}) is None


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"cluster": {}, "task": {}}',
        '{"cluster": 3, "task": {"type": "a", "index": 0}}',
        '{"cluster": {"workerpool0": ["chief"]}, "task": {"type": "workerpool0", "index": 0}}',
    ],
)
def test_a_description_that_cannot_be_read_is_one_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match="CLUSTER_SPEC"):
        cluster_from({"CLUSTER_SPEC": text})


@pytest.mark.parametrize(("pool", "index"), [("workerpool1", 5), ("workerpool1", -1), ("chief", 0), ("workerpool9", 0)])
def test_a_replica_that_the_cluster_does_not_list_is_told_so(pool: str, index: int) -> None:
    with pytest.raises(ConfigError, match="none of the replicas that it lists"):
        cluster_from(spec(pool, index))


@pytest.mark.parametrize(
    ("pool", "machine", "gpus"),
    [
        ("workerpool0", {"machineSpec": {"acceleratorType": "NVIDIA_TESLA_A100", "acceleratorCount": 8}}, 8),
        ("workerpool0", {"machine_spec": {"accelerator_type": "NVIDIA_L4", "accelerator_count": "2"}}, 2),
        ("workerpool0", {"machineSpec": {"machineType": "n2-standard-8"}}, 0),
        ("workerpool0", {"machineSpec": {"machineType": "ct5lp-hightpu-4t", "tpuTopology": "2x2"}}, 0),
        ("workerpool1", {"machineSpec": {"acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}}, 0),
    ],
)
def test_the_gpus_of_this_replicas_pool_are_read_in_either_spelling(
    pool: str, machine: dict[str, Any], gpus: int
) -> None:
    key = "worker_pool_specs" if "machine_spec" in machine else "workerPoolSpecs"
    cluster = cluster_from(spec(pool, 0, job=json.dumps({key: [machine]})))
    assert cluster is not None
    assert cluster.gpus == gpus


@pytest.mark.parametrize(
    ("pool", "spec_of_pool", "image"),
    [
        ("workerpool0", {"containerSpec": {"imageUri": "host/a@sha256:0a"}}, "host/a@sha256:0a"),
        ("workerpool0", {"container_spec": {"image_uri": "host/a:v1"}}, "host/a:v1"),
        ("workerpool0", {"pythonPackageSpec": {"executorImageUri": "host/b:latest"}}, "host/b:latest"),
        ("workerpool0", {"containerSpec": {"command": ["true"]}}, None),
        ("workerpool0", {"containerSpec": []}, None),
        ("workerpool1", {"containerSpec": {"imageUri": "host/a@sha256:0a"}}, None),
    ],
)
def test_the_image_of_this_replicas_pool_is_read_in_either_spelling(
    pool: str, spec_of_pool: dict[str, Any], image: str | None
) -> None:
    key = "worker_pool_specs" if "container_spec" in spec_of_pool else "workerPoolSpecs"
    cluster = cluster_from(spec(pool, 0, job=json.dumps({key: [spec_of_pool]})))
    assert cluster is not None
    assert cluster.image == image


@pytest.mark.parametrize("job", ["{", "[]", None, 3, json.dumps({"workerPoolSpecs": "many"})])
def test_a_job_that_cannot_be_read_is_no_error(job: Any) -> None:
    cluster = cluster_from(spec("workerpool0", 0, job=job))
    assert cluster is not None
    assert cluster.gpus == 0
    assert cluster.image is None


@given(st.integers(1, 5), st.integers(1, 8))
def test_every_process_of_a_job_has_a_rank_of_its_own(nodes: int, processes: int) -> None:
    ranks = []
    for rank in range(nodes):
        for local, environment in enumerate(torch_environments({}, Group(rank, nodes, processes, "chief", 29500))):
            assert environment["WORLD_SIZE"] == environment["TRAINER_WORLD_SIZE"] == str(nodes * processes)
            assert environment["RANK"] == environment["TRAINER_RANK"]
            assert environment["LOCAL_RANK"] == str(local)
            ranks.append(int(environment["RANK"]))
    assert ranks == list(range(nodes * processes))
