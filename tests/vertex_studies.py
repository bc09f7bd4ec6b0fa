"""A local Vertex AI in this process, for tests of tuning jobs, schedules and pipelines."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from google.cloud import aiplatform_v1 as v1
from google.cloud.aiplatform_v1.services.job_service.transports import JobServiceGrpcTransport
from google.cloud.aiplatform_v1.services.pipeline_service.transports import PipelineServiceGrpcTransport
from google.cloud.aiplatform_v1.services.schedule_service.transports import ScheduleServiceGrpcTransport

from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings

PROJECT = "overnight-local"
PARENT = f"projects/{PROJECT}/locations/europe-west4"
QUICK: dict[str, Any] = {"machine_slots": 4, "grace_seconds": 5.0, "retry_seconds": 0.05}


class Vertex:
    """A server and the official clients of three of its services."""

    def __init__(self, server: Server) -> None:
        self.server = server
        channel = grpc.insecure_channel(server.grpc_address)
        self.jobs = v1.JobServiceClient(transport=JobServiceGrpcTransport(channel=channel))
        self.pipelines = v1.PipelineServiceClient(transport=PipelineServiceGrpcTransport(channel=channel))
        self.schedules = v1.ScheduleServiceClient(transport=ScheduleServiceGrpcTransport(channel=channel))

    @classmethod
    def start(cls, folder: Path, **settings: Any) -> "Vertex":
        """A new server on `folder`, with room for four processes."""
        server = Server(folder, Settings(**{**QUICK, **settings}))
        server.start()
        return cls(server)

    def stop(self) -> None:
        """Stop the server; its folder stays."""
        self.server.stop()

    def bucket(self, path: str) -> Path:
        """Where `gs://PATH` lies."""
        return self.server.folder / "gcs" / path


def until(look: Callable[[], Any], seconds: float = 20) -> Any:
    """What `look` returns as soon as it is true."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, "the condition was not met in time"
        time.sleep(0.02)
    return found


def pools(program: str, *arguments: str) -> list[dict[str, Any]]:
    """One replica of a Python program, as worker pools of a message."""
    container = {"image_uri": "r/i", "command": [sys.executable, "-c", program], "args": list(arguments)}
    return [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1, "container_spec": container}]
