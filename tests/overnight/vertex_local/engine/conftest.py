"""A server in this process, and a client that submits small Python programs as jobs."""

import json
import time
from types import SimpleNamespace

import grpc
import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform_v1 as v1
from google.cloud.aiplatform_v1.services.job_service.transports import JobServiceGrpcTransport, JobServiceRestTransport
from google.cloud.aiplatform_v1.services.persistent_resource_service.transports import (
    PersistentResourceServiceGrpcTransport,
)

from overnight.vertex_local.engine.job_files import JobFiles
from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings

PARENT = "projects/overnight-local/locations/europe-west4"
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")
MACHINE = {"machine_type": "n1-standard-4"}


def make_custom_job(*pools, name="test", machine=MACHINE, command=None, args=(), **spec):
    """A message: a Python program a pool, as text or (text, replicas); None for a placeholder."""
    return {
        "display_name": name,
        "job_spec": {
            "worker_pool_specs": [
                {}
                if pool is None
                else {
                    "machine_spec": machine,
                    "replica_count": pool[1] if isinstance(pool, tuple) else 1,
                    "container_spec": {
                        "image_uri": "europe-west4-docker.pkg.dev/p/r/i",
                        "command": command or ["python", "-c", pool[0] if isinstance(pool, tuple) else pool],
                        "args": list(args),
                    },
                }
                for pool in pools
            ],
            **spec,
        },
    }


class Client:
    """What the tests do with a server, over the given wire."""

    parent = PARENT

    def __init__(self, server, wire="grpc"):
        self.server = server
        self.jobs = v1.JobServiceClient(transport=_transport(server, wire))
        channel = grpc.insecure_channel(server.grpc_address)
        self.resources = v1.PersistentResourceServiceClient(
            transport=PersistentResourceServiceGrpcTransport(channel=channel)
        )

        self.files = JobFiles(server.folder / "jobs")

    @property
    def engine(self):
        return self.server.world.engine

    def submit(self, *pools, **spec):
        return self.jobs.create_custom_job(parent=PARENT, custom_job=make_custom_job(*pools, **spec)).name

    def job(self, name):
        return self.jobs.get_custom_job(name=name)

    def state(self, name):
        return self.job(name).state.name.removeprefix("JOB_STATE_")

    def wait(self, name, *states, seconds=20):
        """Wait until the job is in one of `states`, or has ended; returns it."""
        self.until(lambda: self.state(name) in (states or ENDED), seconds)
        return self.job(name)

    def until(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not (value := condition()):
            assert time.monotonic() < deadline, "the condition was not met in time"
            time.sleep(0.02)
        return value

    def run(self, *pools, **spec):
        return self.wait(self.submit(*pools, **spec))

    def states(self, name):
        """The states the job went through, in order."""
        reached = ["QUEUED"]
        for event in self.files.events(name):
            state = "PENDING" if event.kind == "launch" else event.state
            if state and state != reached[-1]:
                reached.append(str(state))
        return reached

    def count(self, name, kind):
        return sum(event.kind == kind for event in self.files.events(name))

    def log(self, name, replica="workerpool0-0"):
        entries = self.files.read_log(name).entries
        return [entry.message for entry in entries if entry.replica == replica]

    def said(self, name, replica="workerpool0-0"):
        """The replica's first line, as JSON."""
        return json.loads(self.log(name, replica)[0])

    def bucket(self, path):
        return self.server.folder / "gcs" / path


def _transport(server, wire):
    if wire == "grpc":
        return JobServiceGrpcTransport(channel=grpc.insecure_channel(server.grpc_address))
    host = server.rest_url.removeprefix("http://")
    return JobServiceRestTransport(host=host, url_scheme="http", credentials=AnonymousCredentials())


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A server for tests that do not mind other jobs; it has room for many."""
    settings = Settings(machine_slots=8, grace_seconds=5.0, retry_seconds=0.05, provision_seconds=0.0)
    with Server(tmp_path_factory.mktemp("vertex"), settings) as server:
        yield Client(server)


@pytest.fixture
def serve(tmp_path):
    """A maker of servers of their own, by settings; they are stopped at the end."""
    servers = []

    def make(**settings):
        quick = {"machine_slots": 2, "grace_seconds": 5.0, "retry_seconds": 0.05, "provision_seconds": 0.0}
        server = Server(tmp_path / "vertex", Settings(**{**quick, **settings}))
        server.start()
        servers.append(server)
        return Client(server)

    yield make
    for server in servers:
        server.stop()


@pytest.fixture
def programs():
    """Programs that several tests run."""
    return SimpleNamespace(
        sleep="import time; time.sleep(60)",
        environment="import json, os; print(json.dumps(dict(os.environ)), flush=True)",
    )


@pytest.fixture
def custom_job():
    """A maker of messages."""
    return make_custom_job


@pytest.fixture
def client_of():
    """A maker of clients for servers that are there."""
    return Client
