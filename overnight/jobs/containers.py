"""A local run in containers: each replica in the image that its pool names, as Vertex AI would start it."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from overnight.errors import OvernightError
from overnight.jobs.resolve import ResolvedJob, inputs_of
from overnight.vertex_local.container import Containers, Mount

HANDED_ON = ("HOME", "PATH", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE")
"""What podman itself needs of this machine's environment; containers see none of it."""


@contextlib.contextmanager
def in_containers(resolved: ResolvedJob, root: Path) -> Iterator[Containers]:
    """How the job's replicas start as containers while the block runs; its images' local registry answers meanwhile.

    A container may read snapshot and shards and write into the run's folder. Raises OvernightError without podman and
    BuildError when another program has the registry's port.
    """
    from overnight.builds.containers import environment
    from overnight.builds.registry_process import serving
    from overnight.images.local import LOCAL_REGISTRY, is_loopback

    if shutil.which("podman") is None:
        raise OvernightError(
            "podman is not installed",
            where="--containers",
            remedy="install it with: apt-get install --no-install-recommends podman runc",
        )
    hosts = sorted({host for host in _hosts(resolved) if is_loopback(host)})
    inputs = inputs_of(resolved.custom_job)
    mounts = (Mount(inputs.snapshot), Mount(inputs.shards), Mount(resolved.folder, writable=True))
    variables = {
        **{name: os.environ[name] for name in HANDED_ON if name in os.environ},
        # Given from outside, as in a folder that several commands share, it is the one that counts.
        **{name: value for name, value in os.environ.items() if name.startswith("CONTAINERS_")},
    }
    if "CONTAINERS_CONF" not in variables:
        variables |= environment(root / "containers", hosts[0] if hosts else LOCAL_REGISTRY)
    with contextlib.ExitStack() as stack:
        for host in hosts:
            stack.enter_context(serving(host, root / "registry"))
        yield Containers(mounts, variables, rootless=os.geteuid() != 0)


def _hosts(resolved: ResolvedJob) -> list[str]:
    from overnight.images.reference import parse

    return [
        parse(pool.container_spec.image_uri).host
        for pool in resolved.custom_job.job_spec.worker_pool_specs
        if pool.container_spec.image_uri
    ]
