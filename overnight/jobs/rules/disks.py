"""Boot disks, and file systems mounted beside them."""

from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error
from overnight.jobs.view import JobView

DISK_TYPES = ("pd-ssd", "pd-standard", "hyperdisk-balanced")
DISK_GB = (100, 64_000)

DISK_TYPE = error(
    "boot-disk-type",
    "The machine boots from this disk: a3-ultragpu and a4 from hyperdisk-balanced, others from pd-ssd or pd-standard.",
    "0 rule 11, 1.1; API v1 protobuf (DiskSpec)",
)
DISK_SIZE = error("boot-disk-size", "A boot disk has 100 to 64,000 GB.", "0 rule 11; API v1 protobuf (DiskSpec)")
NFS_MOUNT = error(
    "nfs-mount", "An NFS mount has server, an absolute path and mountPoint.", "1.1; training/train-nfs-share"
)
NFS_NETWORK = error(
    "nfs-network",
    "A job that mounts NFS stands in the share's network: network or pscInterfaceConfig.",
    "1.1; training/train-nfs-share",
)


def boot_disk(job: JobView, context: Context) -> Iterator[Finding]:
    """Type and size."""
    for pool in job.pools:
        spec = pool.data.get("diskSpec", {})
        kind, size = spec.get("bootDiskType"), int(spec.get("bootDiskSizeGb", DISK_GB[0]))
        fitting = pool.machine.boot_disk_types if pool.machine else DISK_TYPES
        if kind and kind not in fitting:
            said = f"{pool.machine_type or 'a machine'} does not boot from {kind}"
            yield DISK_TYPE.at(pool.at("diskSpec", "bootDiskType"), said, f"write {' or '.join(fitting)}")
        if not DISK_GB[0] <= size <= DISK_GB[1]:
            said = f"a boot disk has 100 to 64,000 GB, and this asks for {size:,}"
            yield DISK_SIZE.at(pool.at("diskSpec", "bootDiskSizeGb"), said, "write a number in between")


def mounts(job: JobView, context: Context) -> Iterator[Finding]:
    """NFS shares."""
    connected = "network" in job.spec or "pscInterfaceConfig" in job.spec
    for pool in job.pools:
        for index, mount in enumerate(pool.data.get("nfsMounts", [])):
            where = pool.at("nfsMounts", index)
            missing = [name for name in ("server", "path", "mountPoint") if not mount.get(name)]
            if missing:
                yield NFS_MOUNT.at((*where, missing[0]), f"an NFS mount needs its {missing[0]}", "add it")
            elif not mount["path"].startswith("/"):
                yield NFS_MOUNT.at((*where, "path"), "the exported path is absolute", f"write /{mount['path']}")
        if pool.data.get("nfsMounts") and not connected:
            said = "the share's address is reached from its own network only"
            yield NFS_NETWORK.at(pool.at("nfsMounts"), said, "give the job network or pscInterfaceConfig")


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (boot_disk, mounts)
