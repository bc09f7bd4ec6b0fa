"""CLUSTER_SPEC and TF_CONFIG of every replica, against files that a reviewer reads."""

import json
from pathlib import Path

import pytest

from overnight.vertex_local.cluster import (
    JobIdentity,
    ReplicaName,
    cluster_spec,
    replica_names,
    service_environment,
    tf_config,
)

GOLDEN = Path(__file__).parent / "golden"

TOPOLOGIES = {
    "one-replica": [1],
    "two-pools": [1, 1],
    "three-workers": [1, 3],
    "parameter-servers": [1, 2, 2],
    "placeholder-before-evaluator": [1, 1, None, 1],
    "only-primary-and-evaluator": [1, None, None, 1],
}


def addresses(job):
    return {name: f"{name}.example:2222" for name in replica_names(job)}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_every_replica_is_told_of_the_others(name, job):
    message = job(*[None if count is None else ("pass", count) for count in TOPOLOGIES[name]])
    where = addresses(message)
    told = {
        str(replica): {
            "CLUSTER_SPEC": cluster_spec(message, where, replica),
            "TF_CONFIG": tf_config(message, where, replica),
        }
        for replica in replica_names(message)
    }
    assert told == json.loads((GOLDEN / f"{name}.json").read_text())


def test_an_unset_replica_count_is_one(job):
    message = job(("pass", 1))
    message.job_spec.worker_pool_specs[0].ClearField("replica_count")
    assert replica_names(message) == (ReplicaName(0, 0),)


@pytest.mark.parametrize("base", ["/runs/x", "/runs/x/", "gs://bucket/runs/x"])
def test_the_output_folders_end_with_a_slash(base, job):
    message = job(("pass", 1), base=base)
    variables = service_environment(message, JobIdentity("1", "2"), addresses(message), ReplicaName(0, 0))
    prefix = base.rstrip("/")
    assert variables["AIP_MODEL_DIR"] == f"{prefix}/model/"
    assert variables["AIP_CHECKPOINT_DIR"] == f"{prefix}/checkpoints/"
    assert variables["AIP_TENSORBOARD_LOG_DIR"] == f"{prefix}/logs/"


def test_without_an_output_folder_and_peers_those_variables_are_absent(job):
    message = job(("pass", 1))
    variables = service_environment(message, JobIdentity("1", "2"), addresses(message), ReplicaName(0, 0))
    assert set(variables) == {"CLOUD_ML_PROJECT_ID", "CLOUD_ML_JOB_ID", "CLUSTER_SPEC"}


def test_every_replica_has_the_same_cluster(job):
    message = job(("pass", 1), ("pass", 2))
    where = addresses(message)
    clusters = [cluster_spec(message, where, replica)["cluster"] for replica in where]
    assert all(cluster == clusters[0] for cluster in clusters)
