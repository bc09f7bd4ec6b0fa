"""podman and buildah, configured by files of one folder: nothing under /etc is read for it or touched."""

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from overnight.builds.errors import BuildError
from overnight.files import sha256_bytes, write_atomically

BUILD_ID = "OVERNIGHT_BUILD_ID"
"""Tells the stand-in for docker which build its containers belong to."""
STORE = "CONTAINERS_STORAGE_CONF"
"""Names the settings of a store of one's own."""
LABEL = "dev.overnight.build"
"""On containers of a local build, so that none outlives it."""
TOOLS: Mapping[str, str] = {
    "podman": "podman",
    "buildah": "buildah",
    "docker-registry": "docker-registry",
    "git": "git",
}
"""Commands, and Debian's packages that bring them."""
RUNTIMES = ("runc", "crun")
"""In this order: crun refuses hybrid cgroups, which machines with older kernels' settings have."""
MOST_OPEN_FILES = 1_048_576
"""What podman would ask for by itself, and may not get without CAP_SYS_RESOURCE."""
PROCESSES = 4096

KNOWN_FAILURES = (
    (
        "RLIMIT_NOFILE",
        "the limit of open files cannot be raised on this machine; give a lower --ulimit nofile=SOFT:HARD",
    ),
    (
        "cgroups in hybrid mode not supported",
        "the runtime crun does not work with this machine's hybrid cgroups; install runc (apt-get install runc)",
    ),
    (
        "newuidmap",
        "this user has no range of user ids for containers; install uidmap and add a line to /etc/subuid and "
        "/etc/subgid, or run as root",
    ),
    (
        "no subuid ranges found",
        "this user has no range of user ids for containers; add a line to /etc/subuid and /etc/subgid, or run as root",
    ),
    (
        "'overlay' is not supported over",
        "the store's file system cannot carry overlay mounts; give another one with --store",
    ),
    (
        "netavark: ",
        "podman's network cannot be set up on this machine; use --network none or host",
    ),
    (
        "/proc/sys/net",
        "podman may not set up a network on this machine; use --network none or host",
    ),
    (
        "short-name",
        "an image is named without its registry, and docker.io is not assumed; write HOST/PATH/NAME",
    ),
    (
        "no space left on device",
        "the disk is full; free some space, or give another folder with --store",
    ),
)


def missing_tools(find: Callable[[str], str | None] = shutil.which) -> list[str]:
    """Debian's packages for commands that a local build needs and this machine lacks."""
    missing = [package for command, package in TOOLS.items() if find(command) is None]
    if all(find(runtime) is None for runtime in RUNTIMES):
        missing.append(RUNTIMES[0])
    return missing


def check_tools(find: Callable[[str], str | None] = shutil.which) -> None:
    """Raise BuildError with the command that installs what is missing."""
    if missing := missing_tools(find):
        raise BuildError(
            f"a local build needs {' and '.join(missing)}, not found here",
            remedy=f"install with: apt-get install --no-install-recommends {' '.join(missing)}",
        )


def environment(folder: Path, registry_host: str) -> dict[str, str]:
    """Environment variables that make podman and buildah work in `folder` with the registry at HOST:PORT.

    The registry is spoken to without TLS; all others with it. As root the image store is `folder` too; as another
    user it stays where that user's podman has it.
    """
    folder = folder.absolute()
    engine = folder / "containers.conf"
    registries = folder / "registries.conf"
    write_atomically(engine, _engine().encode())
    write_atomically(registries, _registries(registry_host).encode())
    variables = {
        "CONTAINERS_CONF": str(engine),
        "CONTAINERS_REGISTRIES_CONF": str(registries),
        "BUILDAH_ISOLATION": "chroot",
    }
    if os.geteuid() == 0:
        storage = folder / "storage.conf"
        write_atomically(storage, _storage(folder).encode())
        variables[STORE] = str(storage)
    return variables


def release(folder: Path) -> None:
    """Unmount what podman leaves mounted in a store, so that the folder can be removed; podman mounts it anew."""
    mount = folder.absolute() / "store" / "overlay"
    if mount.is_mount():
        subprocess.run(["umount", str(mount)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)


def explain(errors: str) -> str | None:
    """One sentence on why podman failed; None where the reason is not a known one."""
    return next((f"{sentence}." for sign, sentence in KNOWN_FAILURES if sign in errors), None)


def _engine() -> str:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    runtime = next((name for name in RUNTIMES if shutil.which(name)), RUNTIMES[0])
    return (
        "[containers]\n"
        f'default_ulimits = ["nofile={files}:{files}", "nproc={PROCESSES}:{PROCESSES}"]\n'
        'netns = "host"\n'
        "[engine]\n"
        # No systemd is needed for it, nor for the journal.
        'cgroup_manager = "cgroupfs"\n'
        'events_logger = "file"\n'
        f'runtime = "{runtime}"\n'
    )


def _registries(host: str) -> str:
    return f"unqualified-search-registries = []\n[[registry]]\nlocation = {json.dumps(host)}\ninsecure = true\n"


def _storage(folder: Path) -> str:
    # Emptied at every start of the machine, as it must be; podman warns of long paths here.
    run = Path("/run/overnight") / sha256_bytes(os.fsencode(folder))[:12]
    return (
        f'[storage]\ndriver = "overlay"\ngraphroot = {json.dumps(str(folder / "store"))}\n'
        f"runroot = {json.dumps(str(run))}\n"
    )
