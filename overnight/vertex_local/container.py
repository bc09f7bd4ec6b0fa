"""A replica as a container of this machine: the job's own image, started by podman instead of by Vertex AI."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.command import Command, NotLocal, expand
from overnight.vertex_local.messages import CustomJob

SCRATCH_SIZE = "1g"
"""Of /tmp, the one place besides the mounts that a container may write to."""


@dataclass(frozen=True)
class Mount:
    """A folder of this machine that the container sees under the same path."""

    folder: Path
    writable: bool = False

    def option(self, *, rootless: bool) -> str:
        """As `--volume` takes it. Under root what is written to changes owner (U): the container's user is nobody."""
        mode = "ro" if not self.writable else "rw" if rootless else "rw,U"
        return f"{self.folder}:{self.folder}:{mode}"


@dataclass(frozen=True)
class Containers:
    """How containers are started here. Calling it gives the process of one replica, as `container_command` does."""

    mounts: Sequence[Mount]
    environment: Mapping[str, str]
    """Of podman itself: where it keeps images, which registries it reaches without TLS."""
    rootless: bool = False
    """Whether podman runs as an ordinary user: containers then run as that user too, whatever their image says."""
    shared_memory: str = "1g"
    """Of /dev/shm, through which workers of one machine talk to each other."""

    def __call__(self, job: CustomJob, replica: ReplicaName, service: Mapping[str, str]) -> Command:
        """`podman run` of the replica's image: no privileges, nothing of the root file system writable.

        Replicas reach each other by the host's loopback addresses. Raises NotLocal when the pool names no image.
        """
        container = job.job_spec.worker_pool_specs[replica.pool].container_spec
        if not container.image_uri:
            raise NotLocal(
                "there is no image to start a container from",
                where=f"jobSpec.workerPoolSpecs[{replica.pool}].containerSpec.imageUri",
                remedy="name one by digest, or leave --containers away",
            )
        variables = dict(service)
        for variable in container.env:
            variables[variable.name] = expand(variable.value, variables)
        words = [expand(word, variables) for word in (*container.command, *container.args)]
        name = f"overnight-{service.get('CLOUD_ML_JOB_ID', os.getpid())}-{replica}"
        # An entry point takes one word; the others go where its arguments go.
        entry = ["--entrypoint", words.pop(0)] if container.command else []
        return Command(
            ("podman", *self._options(name, variables), *entry, container.image_uri, *words),
            {**self.environment},
            # Killing the process that waits for a container does not end the container.
            cleanup=("podman", "rm", "--force", "--ignore", "--time", "0", name),
        )

    def _options(self, name: str, variables: Mapping[str, str]) -> list[str]:
        return [
            *("run", "--rm", "--replace", "--name", name, "--network", "host"),
            *("--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"),
            *("--tmpfs", f"/tmp:rw,size={SCRATCH_SIZE}", "--shm-size", self.shared_memory),
            *self._user(),
            *(word for mount in self.mounts for word in ("--volume", mount.option(rootless=self.rootless))),
            *(word for item in variables.items() for word in ("--env", "=".join(item))),
        ]

    def _user(self) -> list[str]:
        if not self.rootless:
            return []
        return ["--userns", "keep-id", "--user", f"{os.getuid()}:{os.getgid()}"]
