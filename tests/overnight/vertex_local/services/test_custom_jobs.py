"""JobService's custom jobs by the official client over every wire, and what CreateCustomJob refuses."""

import time

import pytest
from google.api_core.exceptions import BadRequest, InvalidArgument, NotFound
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.server import Server
from vertex_support import NUMBERED, PARENT, client

MACHINE = {"machine_type": "n1-standard-4"}
ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")


def pool(program="pass", **more):
    container = {"image_uri": "i", "command": ["python", "-c", program]}
    return {"machine_spec": MACHINE, "replica_count": 1, "container_spec": container, **more}


def job(*pools, labels=None, name="test", **spec):
    return {
        "display_name": name,
        "labels": labels or {},
        "job_spec": {"worker_pool_specs": list(pools) or [pool()], **spec},
    }


@pytest.fixture
def jobs(connect, wire):
    return connect(v1.JobServiceClient, wire)


@pytest.fixture
def one_wire(connect):
    return connect(v1.JobServiceClient)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """A client of a server for requests that change nothing there."""
    with Server(tmp_path_factory.mktemp("vertex")) as server:
        yield client(server, v1.JobServiceClient)


def ended(jobs, name):
    deadline = time.monotonic() + 20
    while (found := jobs.get_custom_job(name=name)).state.name not in ENDED:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def test_a_job_is_created_read_listed_cancelled_and_deleted(jobs):
    made = jobs.create_custom_job(parent=PARENT, custom_job=job(labels={"run": "a"}))
    assert made.name.startswith(f"{NUMBERED}/customJobs/")
    assert made.state.name == "JOB_STATE_QUEUED"
    long = jobs.create_custom_job(parent=PARENT, custom_job=job(pool("import time; time.sleep(60)"), name="long"))
    assert ended(jobs, made.name).state.name == "JOB_STATE_SUCCEEDED"
    with pytest.raises(BadRequest, match="cancel it before deleting it"):
        jobs.delete_custom_job(name=long.name)
    jobs.cancel_custom_job(name=long.name)
    assert ended(jobs, long.name).error.code == 1
    found = jobs.list_custom_jobs(
        request={"parent": PARENT, "filter": 'state="JOB_STATE_SUCCEEDED" AND labels.run="a"'}
    )
    assert [found.name for found in found] == [made.name]
    jobs.delete_custom_job(name=made.name).result(timeout=5)
    with pytest.raises(NotFound):
        jobs.get_custom_job(name=made.name)


def test_a_deleted_job_takes_its_folder_along(one_wire, server):
    name = one_wire.create_custom_job(parent=PARENT, custom_job=job()).name
    ended(one_wire, name)
    folder = server.world.engine.files.folder(name).path
    assert folder.is_dir()
    one_wire.delete_custom_job(name=name)
    assert not folder.exists()


def test_what_only_the_server_sets_is_cleared(one_wire):
    sent = job()
    sent |= {"name": "mine", "state": "JOB_STATE_SUCCEEDED", "error": {"code": 5}, "web_access_uris": {"a": "b"}}
    made = one_wire.create_custom_job(parent=PARENT, custom_job=sent)
    assert (made.state.name, made.error.code, dict(made.web_access_uris)) == ("JOB_STATE_QUEUED", 0, {})
    assert made.name != "mine"


def test_disable_retries_overrides_restart_job_on_worker_restart(one_wire):
    scheduling = {"disable_retries": True, "restart_job_on_worker_restart": True}
    made = one_wire.create_custom_job(parent=PARENT, custom_job=job(scheduling=scheduling))
    assert not made.job_spec.scheduling.restart_job_on_worker_restart


def test_a_placeholder_is_allowed_after_the_first_pool(one_wire):
    made = one_wire.create_custom_job(parent=PARENT, custom_job=job(pool(), {}, pool()))
    assert [spec.replica_count for spec in made.job_spec.worker_pool_specs] == [1, 0, 1]


def container(**fields):
    return pool(container_spec={"image_uri": "i", "command": ["true"], **fields})


PACKAGE = {"machine_spec": MACHINE, "python_package_spec": {"package_uris": ["gs://b/x.tar.gz"]}}
SEVEN_DAYS = 7 * 24 * 3600


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"job_spec": {"worker_pool_specs": [pool()]}}, "display_name; Message: Required field is not set."),
        (job(name="x" * 129), "128 characters"),
        (job(labels={"Upper": "x"}), r"labels\[Upper\]"),
        (job(labels={"x": "a b"}), r"labels\[x\]"),
        (job(labels={f"k{number}": "" for number in range(65)}), "64 labels"),
        ({"display_name": "x", "job_spec": {}}, "worker_pool_specs; Message: Required field is not set."),
        (job({}, pool()), "first pool holds the primary"),
        (job(*[pool()] * 5), "4 worker pools"),
        (job(pool(replica_count=2)), r"worker_pool_specs\[0\].replica_count; Message: The first worker pool has one"),
        (job(pool(replica_count=-1)), "negative"),
        (job({"machine_spec": MACHINE}), "Exactly one of container_spec and python_package_spec"),
        (job(pool(machine_spec={})), "machine_type; Message: Required"),
        (
            job(pool(machine_spec={**MACHINE, "accelerator_type": "NVIDIA_L4"})),
            "Both `accelerator_type` and `accelerator_count` should be specified or none.",
        ),
        (job(pool(disk_spec={"boot_disk_type": "ssd"})), "boot_disk_type"),
        (job(pool(disk_spec={"boot_disk_size_gb": 99})), "between 100 and 64000"),
        (job(container(image_uri="")), "image_uri; Message: Required"),
        (job(container(env=[{"name": "A B", "value": ""}])), "C identifier"),
        (job(container(env=[{"name": f"A{number}"} for number in range(101)])), "100 variables"),
        (job(container(args=["x" * 100_001])), "100000 characters"),
        (job(PACKAGE), "executor_image_uri; Message: Required.*python_module; Message: Required"),
        (job(scheduling={"max_wait_duration": {"seconds": 1}}), "only be set with the strategy FLEX_START"),
        (job(scheduling={"strategy": "FLEX_START", "timeout": {"seconds": SEVEN_DAYS + 1}}), "7 days at most"),
        (
            job(pool(), pool(machine_spec={"machine_type": "n1-highcpu-16"}), scheduling={"strategy": "FLEX_START"}),
            "the same machine_spec",
        ),
        (job(tensorboard="projects/1/locations/l/tensorboards/2"), "must be specified when uploading to TensorBoard"),
        (job(base_output_directory={"output_uri_prefix": "/gcs/bucket"}), "Expected gs://BUCKET/PREFIX"),
        (job(network="projects/name/global/networks/default"), "PROJECT_NUMBER"),
        (job(reserved_ip_ranges=["range"]), "only be given with a network"),
    ],
)
def test_a_job_against_a_rule_is_refused_by_the_fields_name(refusing, message, text):
    with pytest.raises(InvalidArgument, match=text):
        refusing.create_custom_job(parent=PARENT, custom_job=message)


def test_all_that_is_wrong_is_told_at_once(refusing):
    with pytest.raises(InvalidArgument, match=r"List of found errors:\t1.Field: .*\t2.Field: .*\t3.Field: "):
        refusing.create_custom_job(parent=PARENT, custom_job=job({"replica_count": 2}, name=""))


def test_the_high_level_client_runs_a_job_to_its_end(server, monkeypatch):
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import aiplatform
    from google.cloud.aiplatform import jobs as high_level

    monkeypatch.setattr(high_level, "_JOB_WAIT_TIME", 0.05)
    aiplatform.init(
        project="demo",
        location="us-central1",
        api_endpoint=server.rest_url,
        api_transport="rest",
        credentials=AnonymousCredentials(),
        staging_bucket="gs://bucket/staging",
    )
    program = "import os; print(os.environ['AIP_MODEL_DIR'])"
    good = aiplatform.CustomJob(display_name="sdk", worker_pool_specs=[pool(program)], labels={"run": "sdk"})
    good.run(timeout=60, restart_job_on_worker_restart=True)
    assert good.state.name == "JOB_STATE_SUCCEEDED"
    (line,) = [e for e in server.world.engine.files.read_log(good.resource_name).entries if e.replica != "service"]
    assert line.message.startswith("gs://bucket/staging/")
    bad = aiplatform.CustomJob(display_name="sdk", worker_pool_specs=[pool("raise SystemExit(1)")])
    with pytest.raises(RuntimeError, match="The replica workerpool0-0 exited with a non-zero status of 1"):
        bad.run(disable_retries=True)
    assert [found.display_name for found in aiplatform.CustomJob.list(filter='labels.run="sdk"')] == ["sdk"]
