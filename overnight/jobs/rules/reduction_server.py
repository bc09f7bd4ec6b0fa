"""Reduction Server: CPU machines that add up gradients, worth their price between GPU machines on plain TCP only."""

import math
from collections.abc import Iterator

from overnight.images.errors import ImageError
from overnight.images.reference import parse
from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.rules.egress import gbps
from overnight.jobs.view import JobView, PoolView

RECOMMENDED = ("n1-highcpu-16", "n2-highcpu-16")
GPUDIRECT = ("a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g", "a4-highgpu-8g", "a4x-highgpu-4g")
"""GPUDirect-TCPX, -TCPXO or -RDMA: another NCCL network plugin (compute/docs/gpus/gpu-network-bandwidth)."""

REDUCTION_POOL = error(
    "reduction-server-pool", "Reduction Server is pool 2.", "0 rule 1, 1.3; training/distributed-training"
)
REDUCTION_TAG = error(
    "reduction-server-tag",
    "Google's Reduction Server image is named by its digest: its one tag, latest, moves.",
    "1.3, 5; docs/formats.md",
)
REDUCTION_ACCELERATOR = error(
    "reduction-server-accelerator", "Reducers have no accelerators.", "1.3; training/distributed-training"
)
REDUCTION_WORKERS = error(
    "reduction-server-workers",
    "Reduction Server serves GPU workers that use NCCL: neither CPU machines nor TPUs.",
    "1.2, 1.3; training/distributed-training",
)
REDUCTION_SINGLE = warning(
    "reduction-server-single-host",
    "Reduction Server works between machines: a single one has no use for it.",
    "1.3; training/distributed-training",
)
REDUCTION_EGRESS = warning(
    "reduction-server-egress",
    "Reducers together send as much as the workers together.",
    "1.3, 7 (c); training/distributed-training",
)
REDUCTION_MACHINE = warning(
    "reduction-server-machine",
    "Reducers are n1-highcpu-16 or n2-highcpu-16: much network for few cores.",
    "1.3, 7 (c); training/distributed-training",
)
REDUCTION_GPUDIRECT = warning(
    "reduction-server-gpudirect",
    "Machines with GPUDirect have another NCCL plugin at a multiple of the speed (inferred).",
    "1.3; compute/gpus/gpu-network-bandwidth",
)
REDUCTION_FLEX = error(
    "reduction-server-flex-start",
    "Reduction Server does not go with FLEX_START, which wants the same machine in every pool.",
    "0 rule 7, 1.2; training/schedule-jobs-dws",
)
REDUCTION_COMMAND = warning(
    "reduction-server-command", "The Reduction Server image needs no command, args or env.", "1.3"
)
REDUCTION_SHARDED = warning(
    "reduction-server-sharded",
    "Reduction Server speeds up all-reduce only, not the gather and scatter of FSDP (inferred).",
    "1.3",
)


def place(job: JobView, context: Context) -> Iterator[Finding]:
    """Where it stands, and on what."""
    for pool in job.reduction_servers:
        if pool.index != 2:
            said = f"Reduction Server is pool 2, and this is pool {pool.index}"
            yield REDUCTION_POOL.at(pool.path, said, "put it third; {} stands for a pool that is not used")
        if pool.has_gpu or pool.is_tpu:
            where = pool.at("machineSpec", "acceleratorType")
            yield REDUCTION_ACCELERATOR.at(where, "reducers add on CPUs", "remove the accelerator")
        elif pool.machine_type and pool.machine_type not in RECOMMENDED:
            where = pool.at("machineSpec", "machineType")
            said = f"{pool.machine_type} costs more, or sends less, than what is recommended"
            yield REDUCTION_MACHINE.at(where, said, f"take {' or '.join(RECOMMENDED)}")
        given = next((name for name in ("command", "args", "env") if pool.task.get(name)), None)
        if given:
            where = pool.at(pool.task_name or "", given)
            yield REDUCTION_COMMAND.at(where, "the image starts by itself", "remove it")


def image(job: JobView, context: Context) -> Iterator[Finding]:
    """That it is the same image tomorrow."""
    for pool in job.reduction_servers:
        if pool.task_name != "containerSpec":
            continue
        try:
            reference = parse(pool.image)
        except ImageError:
            continue  # image-form says so
        if not reference.pinned:
            said = "Google may move the tag on any day, and the reducers would be others than those that were tested"
            named = reference if reference.tag else f"{reference}:latest"
            remedy = f"write the digest that `overnight image resolve {named}` prints today"
            yield REDUCTION_TAG.at(pool.at("containerSpec", "imageUri"), said, remedy)


def use(job: JobView, context: Context) -> Iterator[Finding]:
    """Whether it is of any use to these workers."""
    server = next(job.reduction_servers, None)
    if server is None or not job.workers:
        return
    if job.strategy == "FLEX_START":
        said = "FLEX_START wants the same machine in every pool, and reducers have no GPU"
        yield REDUCTION_FLEX.at(server.path, said, "drop the pool, or use SPOT or STANDARD")
    primary = job.workers[0]
    if not all(pool.has_gpu for pool in job.workers):
        said = "Reduction Server adds up what NCCL sends: its workers are machines with GPUs"
        yield REDUCTION_WORKERS.at(server.path, said, "drop the pool")
    elif job.worker_replicas < 2:
        said = "there is one machine, and nothing between machines to speed up"
        yield REDUCTION_SINGLE.at(server.path, said, "drop the pool, or add workers in pool 1")
    elif primary.machine_type in GPUDIRECT:
        said = f"{primary.machine_type} has GPUDirect, whose NCCL plugin takes the place of the reducers'"
        yield REDUCTION_GPUDIRECT.at(server.path, said, "drop the pool")
    else:
        yield from _bandwidth(job, server)
    if any("fsdp" in word.lower() for pool in job.workers for word in pool.words):
        said = "FSDP gathers and scatters, which reducers do not do"
        yield REDUCTION_SHARDED.at(server.path, said, "measure before you pay for it")


def _bandwidth(job: JobView, server: PoolView) -> Iterator[Finding]:
    sends = [(gbps(pool), pool.replicas) for pool in job.workers]
    each = gbps(server)
    if each is None or any(speed is None for speed, _ in sends):
        return
    needed = sum((speed or 0) * replicas for speed, replicas in sends)
    if each * server.replicas < needed:
        enough = math.ceil(needed / each)
        yield REDUCTION_EGRESS.at(
            server.at("replicaCount"),
            f"workers send up to {needed} Gbps, {server.replicas} reducers {each * server.replicas} Gbps",
            f"write {enough}: {enough} x {each} Gbps",
        )


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (place, image, use)
