"""Which pools of a persistent resource a job occupies."""

import pytest
from google.cloud import aiplatform_v1 as v1
from google.protobuf import json_format

from overnight.vertex_local.engine.placement import NoSuchPool, assign, machine_replicas, scaled

CPU = {"machineType": "n1-standard-4"}
GPU = {"machineType": "g2-standard-8", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1}


def job(*pools):
    specs = [
        {"machineSpec": machine, "replicaCount": count, "containerSpec": {"imageUri": "i"}, **disk}
        for machine, count, disk in pools
    ]
    return json_format.ParseDict({"jobSpec": {"workerPoolSpecs": specs}}, v1.CustomJob.pb()())


def resource(*pools):
    return json_format.ParseDict(
        {"name": "pr", "resourcePools": [{"id": name, **pool} for name, pool in pools]}, v1.PersistentResource.pb()()
    )


def test_pools_of_equal_machines_are_taken_together():
    has = resource(("gpu", {"machineSpec": GPU, "replicaCount": 3}), ("cpu", {"machineSpec": CPU, "replicaCount": 1}))
    assert assign(job((GPU, 1, {}), (GPU, 2, {}), (CPU, 1, {})), has) == {"gpu": 3, "cpu": 1}


def test_a_placeholder_takes_nothing():
    message = job((GPU, 1, {}))
    message.job_spec.worker_pool_specs.add()
    assert assign(message, resource(("gpu", {"machineSpec": GPU, "replicaCount": 1}))) == {"gpu": 1}


def test_a_second_pool_of_the_same_shape_helps_out():
    has = resource(("a", {"machineSpec": CPU, "replicaCount": 1}), ("b", {"machineSpec": CPU, "replicaCount": 2}))
    assert assign(job((CPU, 1, {}), (CPU, 2, {})), has) == {"a": 1, "b": 2}


def test_a_disk_that_is_not_written_is_the_default_one():
    disk = {"diskSpec": {"bootDiskType": "pd-ssd", "bootDiskSizeGb": 100}}
    assert assign(job((CPU, 1, {})), resource(("a", {"machineSpec": CPU, "replicaCount": 1, **disk}))) == {"a": 1}


@pytest.mark.parametrize(
    ("message", "pool", "text"),
    [
        (job((GPU, 1, {})), {"machineSpec": CPU, "replicaCount": 9}, "no resource pool of pr has its machine_spec"),
        (
            job((CPU, 1, {"diskSpec": {"bootDiskSizeGb": 200}})),
            {"machineSpec": CPU, "replicaCount": 1},
            "no resource pool of pr",
        ),
        (job((CPU, 1, {}), (CPU, 2, {})), {"machineSpec": CPU, "replicaCount": 2}, "pr has 2 at most"),
        (
            job((CPU, 5, {})),
            {"machineSpec": CPU, "autoscalingSpec": {"minReplicaCount": 1, "maxReplicaCount": 4}},
            "has 4 at most",
        ),
    ],
)
def test_what_can_never_run_there_is_told(message, pool, text):
    with pytest.raises(NoSuchPool, match=text):
        assign(message, resource(("a", pool)))


def test_reducers_need_no_machine_here():
    message = job((CPU, 1, {}), (CPU, 3, {}), (CPU, 25, {}))
    image = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
    message.job_spec.worker_pool_specs[2].container_spec.image_uri = image
    assert machine_replicas(message) == 4


@pytest.mark.parametrize(("used", "size"), [(0, 2), (2, 2), (3, 3), (9, 4)])
def test_an_autoscaled_pool_follows_its_use_within_its_bounds(used, size):
    scaling = {"minReplicaCount": 2, "maxReplicaCount": 4}
    (pool,) = resource(("a", {"machineSpec": CPU, "replicaCount": 2, "autoscalingSpec": scaling})).resource_pools
    assert scaled(pool, used) == size
