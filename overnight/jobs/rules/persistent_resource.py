"""A job on a persistent resource must fit one of its pools exactly, or it is never placed."""

import re
from collections import defaultdict
from collections.abc import Iterator

from overnight.config.training import PersistentResource, ResourcePool
from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView, PoolView

PERSISTENT_ID = error(
    "persistent-resource-id",
    "persistentResourceId is the id alone: lower case, digits, hyphens.",
    "1.4; API v1 protobuf",
)
PERSISTENT_UNKNOWN = warning(
    "persistent-resource-unknown", "The environment has the persistent resource, switched on.", "1.4; config"
)
PERSISTENT_MACHINE = error(
    "persistent-resource-machine",
    "Each pool's machineSpec equals that of a pool of the persistent resource.",
    "0 rule 10; training/persistent-resource-train; tensorflow/tfx#6285",
)
PERSISTENT_DISK = error(
    "persistent-resource-disk",
    "Each pool's diskSpec equals that of the pool whose machine it uses.",
    "0 rule 10; training/persistent-resource-train; tensorflow/tfx#6285",
)
PERSISTENT_REPLICAS = error(
    "persistent-resource-replicas",
    "The job asks for no more replicas than the pool can have.",
    "0 rule 10; training/persistent-resource-train; tensorflow/tfx#6285",
)
PERSISTENT_NETWORK = error(
    "persistent-resource-network",
    "The job's network is the persistent resource's.",
    "0 rule 10, 1.1; API v1 protobuf",
)
PERSISTENT_KEY = error(
    "persistent-resource-key",
    "The job's encryption key is the persistent resource's.",
    "0 rule 10, 1.1; API v1 protobuf",
)
PERSISTENT_REGION = error(
    "persistent-resource-region",
    "The job runs in the persistent resource's region.",
    "1.4; training/persistent-resource-train",
)
PERSISTENT_STRATEGY = warning(
    "persistent-resource-strategy",
    "SPOT and FLEX_START do not go with machines that are held already: undocumented.",
    "1.2, 8",
)

_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def named(job: JobView, context: Context) -> Iterator[Finding]:
    """The id, and what it stands beside."""
    name = job.persistent_resource
    if name is None:
        return
    where = job.at("persistentResourceId")
    if not _ID.fullmatch(name):
        said = f"{name!r} is not the id of a persistent resource"
        yield PERSISTENT_ID.at(where, said, "write the id alone, such as night-a100-v1")
    elif context.persistent_resources is not None and _resource(job, context) is None:
        known = ", ".join(item.name for item in context.persistent_resources) or "none"
        said = f"the environment has no persistent resource {name!r} that is switched on"
        yield PERSISTENT_UNKNOWN.at(where, said, f"it has: {known}")
    if job.strategy in ("SPOT", "FLEX_START"):
        yield PERSISTENT_STRATEGY.at(
            job.at("scheduling", "strategy"),
            f"the machines of a persistent resource are there already; what {job.strategy} does then is not documented",
            "remove the strategy, or put it into overnight.fallbacks",
        )


def placed(job: JobView, context: Context) -> Iterator[Finding]:
    """Each pool of the job against the pools of the resource."""
    resource = _resource(job, context)
    if resource is None:
        return
    asked: dict[int, list[PoolView]] = defaultdict(list)
    for pool in job.pools:
        same = [index for index, item in enumerate(resource.resource_pools) if _machine(item) == pool.hardware[:3]]
        fitting = [index for index in same if _disk(resource.resource_pools[index]) == pool.disk]
        if fitting:
            asked[fitting[0]].append(pool)
        elif same:
            yield _other_disk(pool, resource.resource_pools[same[0]])
        else:
            kinds = " or ".join(_said(item) for item in resource.resource_pools)
            said = f"{resource.name} holds {kinds}, and a job is placed on exactly that"
            yield PERSISTENT_MACHINE.at(pool.at("machineSpec"), said, "write the pool's machineSpec")
    for index, pools in asked.items():
        wanted = job.parallel_trials * sum(pool.replicas for pool in pools)
        most = resource.resource_pools[index].most_replicas
        if wanted > most:
            said = f"{wanted} replicas are asked for, and the pool has {most} at most, less what runs on it already"
            where = pools[-1].at("replicaCount")
            yield PERSISTENT_REPLICAS.at(where, said, "ask for fewer, or enlarge the pool")


def _other_disk(pool: PoolView, offered: ResourcePool) -> Finding:
    kind, size = _disk(offered)
    said = f"the pool boots from {kind} of {size} GB, this job from {pool.disk[0]} of {pool.disk[1]} GB"
    remedy = f"write diskSpec: {{bootDiskType: {kind}, bootDiskSizeGb: {size}}}"
    return PERSISTENT_DISK.at(pool.at("diskSpec"), said, remedy)


def surroundings(job: JobView, context: Context) -> Iterator[Finding]:
    """Network, key and region; the environment's resources have no network of their own."""
    if _resource(job, context) is None:
        return
    for field in ("network", "pscInterfaceConfig"):
        if field in job.spec:
            said = "the persistent resource stands in no network of yours, and the job's must be the same"
            yield PERSISTENT_NETWORK.at(job.at(field), said, "remove it, or run without the persistent resource")
    key = job.data.get("encryptionSpec", {}).get("kmsKeyName")
    if key != context.kms_key:
        remedy = f"write {context.kms_key}" if context.kms_key else "remove it"
        said = "the job's key must be the persistent resource's"
        yield PERSISTENT_KEY.at((*job.path, "encryptionSpec", "kmsKeyName"), said, remedy)
    if job.region is not None and job.region != context.region:
        said = f"the persistent resource stands in {context.region}"
        yield PERSISTENT_REGION.at(job.region_path, said, "run the job there")


def _resource(job: JobView, context: Context) -> PersistentResource | None:
    known = context.persistent_resources or ()
    return next((item for item in known if item.name == job.persistent_resource), None)


def _machine(pool: ResourcePool) -> tuple[str, str | None, int]:
    spec = pool.machine_spec
    return (spec.machine_type, spec.accelerator_type, spec.accelerator_count or 0)


def _disk(pool: ResourcePool) -> tuple[str, int]:
    return (pool.disk_spec.boot_disk_type, pool.disk_spec.boot_disk_size_gb)


def _said(pool: ResourcePool) -> str:
    machine, accelerator, count = _machine(pool)
    return f"{machine} with {count} x {accelerator}" if accelerator else machine


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (named, placed, surroundings)
