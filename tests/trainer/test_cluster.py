"""Ranks come from CLUSTER_SPEC, as Vertex AI sets it, and from nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.cluster import Node, node_from
from trainer.errors import ConfigError
from trainer.launch import worker_environments


def spec(pool: str, index: int, workers: int = 2, **others: list[str]) -> dict[str, str]:
    cluster = {"workerpool0": ["chief:2222"], "workerpool1": [f"worker-{n}:2222" for n in range(workers)], **others}
    value = {"cluster": cluster, "environment": "cloud", "task": {"type": pool, "index": index}, "job": "{}"}
    return {"CLUSTER_SPEC": json.dumps(value)}


def test_pool_0_is_rank_0_and_pool_1_follows() -> None:
    assert node_from(spec("workerpool0", 0)) == Node(0, 3, "chief:2222")
    assert node_from(spec("workerpool1", 1)) == Node(2, 3, "chief:2222")


def test_reducers_and_evaluators_are_no_ranks() -> None:
    environment = spec("workerpool1", 0, workerpool2=["reducer:2222"], workerpool3=["evaluator:2222"])
    assert node_from(environment).count == 3


def test_the_platforms_rank_and_world_size_are_ignored() -> None:
    environment = spec("workerpool1", 0) | {"RANK": "7", "WORLD_SIZE": "99"}
    assert node_from(environment) == Node(1, 3, "chief:2222")


def test_without_a_cluster_the_node_is_alone() -> None:
    assert node_from({}).count == 1


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"cluster": {}, "task": {}}', '{"cluster": 3, "task": {"type": "a", "index": 0}}']
)
def test_a_description_that_cannot_be_read_is_one_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match="CLUSTER_SPEC"):
        node_from({"CLUSTER_SPEC": text})


@pytest.mark.parametrize(("pool", "index"), [("workerpool2", 0), ("workerpool1", 5), ("chief", 0)])
def test_a_replica_that_does_not_train_is_told_so(pool: str, index: int) -> None:
    with pytest.raises(ConfigError, match="is none of the 3 that train"):
        node_from(spec(pool, index))


@given(st.integers(1, 5), st.integers(1, 8))
def test_every_process_of_a_job_has_a_rank_of_its_own(nodes: int, processes: int) -> None:
    ranks = []
    for rank in range(nodes):
        for environment in worker_environments({}, Node(rank, nodes, "chief:2222"), processes):
            assert environment["TRAINER_WORLD_SIZE"] == str(nodes * processes)
            ranks.append(int(environment["TRAINER_RANK"]))
    assert ranks == list(range(nodes * processes))
