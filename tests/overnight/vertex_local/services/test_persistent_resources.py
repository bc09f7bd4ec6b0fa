"""PersistentResourceService by the official client, and which jobs may run on a persistent resource."""

import time

import pytest
from google.api_core.exceptions import Conflict, FailedPrecondition, InvalidArgument, NotFound
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings
from vertex_support import NUMBERED, PARENT, client

MACHINE = {"machine_type": "n1-standard-4"}
POOL = {"machine_spec": MACHINE, "replica_count": 2}
NAME = f"{NUMBERED}/persistentResources/pool"


@pytest.fixture
def resources(connect):
    return connect(v1.PersistentResourceServiceClient)


@pytest.fixture
def jobs(connect):
    return connect(v1.JobServiceClient)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """Clients of a server that has a persistent resource, for requests that change nothing there."""
    with Server(tmp_path_factory.mktemp("vertex"), Settings(project="demo", project_number="123456789012")) as server:
        resources = client(server, v1.PersistentResourceServiceClient)
        create(resources)
        yield resources, client(server, v1.JobServiceClient)


def create(resources, *pools, resource_id="pool", **fields):
    message = {"resource_pools": list(pools) or [POOL], **fields}
    request = {"parent": PARENT, "persistent_resource_id": resource_id, "persistent_resource": message}
    return resources.create_persistent_resource(request=request)


def job(*machines, replicas=1, kms="", **spec):
    pools = [
        {
            "machine_spec": machine,
            "replica_count": replicas if index else 1,
            "container_spec": {"image_uri": "i", "command": ["true"]},
        }
        for index, machine in enumerate(machines or (MACHINE,))
    ]
    spec = {"worker_pool_specs": pools, "persistent_resource_id": "pool", **spec}
    return {"display_name": "on it", "job_spec": spec, "encryption_spec": {"kms_key_name": kms}}


def test_a_resource_is_created_read_listed_changed_rebooted_and_deleted(connect, wire):
    resources = connect(v1.PersistentResourceServiceClient, wire)
    operation = create(resources, display_name="mine", labels={"team": "a"})
    assert operation.metadata.generic_metadata.create_time
    made = operation.result(timeout=10)
    assert (made.name, made.state.name, made.resource_pools[0].id) == (NAME, "RUNNING", "pool-0")
    with pytest.raises(Conflict):
        create(resources)
    assert [found.name for found in resources.list_persistent_resources(parent=PARENT)] == [NAME]
    made.resource_pools[0].replica_count = 5
    changed = resources.update_persistent_resource(
        persistent_resource=made, update_mask={"paths": ["resource_pools.replica_count"]}
    ).result(timeout=10)
    assert (changed.resource_pools[0].replica_count, changed.display_name) == (5, "mine")
    assert resources.reboot_persistent_resource(name=NAME).result(timeout=10).state.name == "RUNNING"
    resources.delete_persistent_resource(name=NAME).result(timeout=10)
    with pytest.raises(NotFound):
        resources.get_persistent_resource(name=NAME)


def test_changes_take_their_time_and_come_one_after_the_other(resources, server):
    create(resources)
    assert resources.get_persistent_resource(name=NAME).state.name == "PROVISIONING"
    with pytest.raises(FailedPrecondition, match="is in state PROVISIONING; it must be RUNNING"):
        resources.reboot_persistent_resource(name=NAME)


@pytest.mark.parametrize(
    ("resource_id", "pool", "text"),
    [
        ("Pool", POOL, "persistent_resource_id"),
        ("pool-", POOL, "persistent_resource_id"),
        ("pool", {"machine_spec": MACHINE}, "Either replica_count or autoscaling_spec"),
        ("pool", {"replica_count": 1}, "machine_type; Message: Required"),
        (
            "pool",
            {"machine_spec": MACHINE, "autoscaling_spec": {"min_replica_count": 0, "max_replica_count": 2}},
            "greater than 0",
        ),
        (
            "pool",
            {"machine_spec": MACHINE, "autoscaling_spec": {"min_replica_count": 2, "max_replica_count": 2}},
            "greater than min_replica_count",
        ),
        (
            "pool",
            {**POOL, "autoscaling_spec": {"min_replica_count": 3, "max_replica_count": 4}},
            "between min_replica_count and max_replica_count",
        ),
    ],
)
def test_a_resource_against_a_rule_is_refused(refusing, resource_id, pool, text):
    with pytest.raises(InvalidArgument, match=text):
        create(refusing[0], pool, resource_id=resource_id)


@pytest.mark.parametrize(
    ("message", "error", "text"),
    [
        (job({"machine_type": "n1-highcpu-16"}), InvalidArgument, "has its machine_spec and disk_spec"),
        (job(MACHINE, MACHINE, replicas=2), InvalidArgument, "2 replicas were asked for, and the resource pool"),
        (job(persistent_resource_id="other"), NotFound, "persistentResources/other does not exist"),
        (job(network="projects/1/global/networks/n"), InvalidArgument, "network; Message: It must be the same"),
        (
            job(kms="projects/p/locations/l/keyRings/r/cryptoKeys/k"),
            InvalidArgument,
            "encryption_spec; Message: It must",
        ),
        (job(service_account="a@p.iam.gserviceaccount.com"), InvalidArgument, "enable_custom_service_account"),
    ],
)
def test_a_job_that_does_not_match_its_resource_is_refused(refusing, message, error, text):
    with pytest.raises(error, match=text):
        refusing[1].create_custom_job(parent=PARENT, custom_job=message)


def test_a_job_waits_until_its_resource_runs(resources, jobs, server):
    operation = create(resources)
    name = jobs.create_custom_job(parent=PARENT, custom_job=job()).name
    operation.result(timeout=10)
    events = server.world.engine.files.events(name)
    resource = resources.get_persistent_resource(name=NAME)
    launched = [event.time for event in events if event.kind == "launch"]
    assert all(time >= resource.start_time.timestamp() - 0.01 for time in launched)


def test_an_operation_survives_a_restart_of_the_server(tmp_path):
    with Server(tmp_path / "v", Settings(provision_seconds=3600, project_number="123456789012", project="demo")) as one:
        operation = create(client(one, v1.PersistentResourceServiceClient)).operation.name
        one.world.store.set_note(NAME, "change", {"operation": operation, "due": 0.0, "delete": False})
    with Server(tmp_path / "v", Settings(project_number="123456789012", project="demo")) as two:
        assert two.world.operations.wait(operation, 5.0).done
        assert (
            client(two, v1.PersistentResourceServiceClient).get_persistent_resource(name=NAME).state.name == "RUNNING"
        )


def test_a_pool_cannot_become_smaller_than_its_use_nor_other_than_it_is(connect, server):
    resources, jobs = connect(v1.PersistentResourceServiceClient), connect(v1.JobServiceClient)
    made = create(resources, {**POOL, "id": "cpu"}).result(timeout=10)
    message = job()
    message["job_spec"]["worker_pool_specs"][0]["container_spec"]["command"] = ["sleep", "60"]
    name = jobs.create_custom_job(parent=PARENT, custom_job=message).name
    deadline = time.monotonic() + 10
    while not resources.get_persistent_resource(name=NAME).resource_pools[0].used_replica_count:
        assert time.monotonic() < deadline
    mask = {"paths": ["resource_pools"]}
    made.resource_pools[0].replica_count = 0
    with pytest.raises(FailedPrecondition, match="1 replicas of the pool cpu are in use"):
        resources.update_persistent_resource(persistent_resource=made, update_mask=mask)
    made.resource_pools[0].machine_spec.machine_type = "n1-standard-8"
    with pytest.raises(InvalidArgument, match="Machines cannot be changed"):
        resources.update_persistent_resource(persistent_resource=made, update_mask=mask)
    with pytest.raises(InvalidArgument, match="network"):
        resources.update_persistent_resource(persistent_resource=made, update_mask={"paths": ["network"]})
    jobs.cancel_custom_job(name=name)
