"""What this machine is like and what follows from it: looked at once, before anything starts."""

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainer import buckets
from trainer.cluster import Cluster
from trainer.errors import TrainerError
from trainer.frameworks import Framework

SMALL_SHARED_MEMORY = 1 << 30
"""NCCL's documentation recommends --shm-size=1g for containers; Docker gives 64 MiB, and a CustomJob has no option for
it (googleapis/python-aiplatform#3434)."""
LITTLE_DISK = 10 << 30

_IN_MOUNT = re.compile(r"(?<![\w./-])/gcs/([a-z0-9][\w.-]*)")
_URI = re.compile(r"gs://([a-z0-9][\w.-]*)")
_OWN_VARIABLES = {
    "--snapshot": ("OVERNIGHT_SNAPSHOT",),
    "--shards": ("OVERNIGHT_SHARDS",),
    "--output": ("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR"),
}
"""Variables that our trainer reads where the option is not given."""


class NotMounted(TrainerError):
    """Cloud Storage is not where the command looks for it."""


@dataclass(frozen=True)
class Machine:
    """What was seen."""

    shared_memory: int | None
    """Bytes of /dev/shm; None where it is not there."""
    disk_free: int
    """Bytes for temporary files."""
    gpus: int


def look(environment: Mapping[str, str]) -> Machine:
    """Look around; no subprocess and no driver is asked, so it takes no time."""
    shm = Path("/dev/shm")
    return Machine(
        shared_memory=shutil.disk_usage(shm).total if shm.is_dir() else None,
        disk_free=shutil.disk_usage(tempfile.gettempdir()).free,
        gpus=_visible_gpus(environment),
    )


def _visible_gpus(environment: Mapping[str, str]) -> int:
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([device for device in visible.split(",") if device.strip() not in ("", "-1")])
    return len(list(Path("/dev").glob("nvidia[0-9]*")))


def describe_gpus(machine: Machine, cluster: Cluster | None, framework: Framework, processes: int) -> str:
    """GPUs that are seen, against those that the job asks for."""
    asked = cluster.gpus if cluster else 0
    seen = _count(machine.gpus, "GPU")
    if asked > machine.gpus:
        if machine.gpus == 0:
            return f"no GPU is seen and machineSpec has {asked}: this would train on the CPU, check the image's CUDA"
        return f"{seen} of the {asked} in machineSpec: the others would idle, check CUDA_VISIBLE_DEVICES"
    if machine.gpus == 0:
        return f"no GPU: {_count(processes, 'process', 'processes')} on the CPU"
    if framework == "torch" and processes != machine.gpus:
        return f"{seen} and {_count(processes, 'process', 'processes')}: --nproc-per-node auto gives each GPU its own"
    return f"{seen}: {_count(processes, 'process', 'processes')}"


def describe_shared_memory(
    machine: Machine, environment: Mapping[str, str], *, ours: bool
) -> tuple[str, dict[str, str]]:
    """What /dev/shm means for the run, and variables to set because of it."""
    if machine.shared_memory is None:
        return "/dev/shm is not there: DataLoader workers cannot pass batches, use num_workers=0", {}
    size = f"/dev/shm has {machine.shared_memory >> 20} MiB"
    if machine.shared_memory >= SMALL_SHARED_MEMORY:
        return f"{size}: enough for DataLoader workers and NCCL", {}
    loader = (
        "the trainer's loader needs none of it"
        if ours
        else "DataLoader workers may die of a bus error, use num_workers=0"
    )
    if machine.gpus < 2:
        return f"{size}: {loader}", {}
    if "NCCL_SHM_DISABLE" in environment:
        return f"{size}: {loader}; NCCL_SHM_DISABLE={environment['NCCL_SHM_DISABLE']} stays as it is", {}
    return f"{size}: {loader}; NCCL_SHM_DISABLE=1 is set, or NCCL could die of one", {"NCCL_SHM_DISABLE": "1"}


def describe_disk(machine: Machine) -> str:
    """What is free for temporary files."""
    said = f"{machine.disk_free / (1 << 30):.1f} GiB are free in {tempfile.gettempdir()}"
    if machine.disk_free < LITTLE_DISK:
        return f"{said}: local copies and checkpoints may not fit, raise diskSpec.bootDiskSizeGb"
    return f"{said}: room for local copies"


def describe_buckets(command: Sequence[str], environment: Mapping[str, str], *, ours: bool) -> str:
    """Whether Cloud Storage is where the command looks for it. Raises NotMounted when it is needed and not there."""
    needed = _needed(command, environment, ours)
    folder = buckets.mount(environment) if ours else buckets.MOUNT
    missing = [bucket for bucket in sorted(needed) if not _is_there(folder, bucket)]
    if missing:
        raise NotMounted(
            f"{needed[missing[0]]} needs it and it is not there",
            where=str(folder / missing[0]),
            remedy=_remedy(folder, environment),
        )
    if needed:
        return f"{folder} holds {', '.join(sorted(needed))}: read and written as files"
    if folder.is_dir():
        return f"{folder} is there: gs://bucket/x is {folder}/bucket/x"
    uris = [name for name in sorted(environment) if name.startswith("AIP_") and environment[name].startswith("gs://")]
    if uris:
        return f"{folder} is not there: {', '.join(uris)} can be used with a Cloud Storage client only"
    return f"{folder} is not there: only local paths can be used"


def _needed(command: Sequence[str], environment: Mapping[str, str], ours: bool) -> dict[str, str]:
    """Buckets that must be mounted, each with the word or variable that names it."""
    named = {word: word for word in command}
    if ours:
        given = {word.partition("=")[0] for word in command}
        for option, variables in _OWN_VARIABLES.items():
            present = [name for name in variables if environment.get(name)]
            if option not in given and present:
                named[present[0]] = environment[present[0]]
    patterns = (_IN_MOUNT, _URI) if ours else (_IN_MOUNT,)
    return {bucket: name for name, text in named.items() for pattern in patterns for bucket in pattern.findall(text)}


def _is_there(folder: Path, bucket: str) -> bool:
    """A mount shows a bucket's folder when it is asked for; a local stand-in may make it later."""
    return folder.is_dir() if folder != buckets.MOUNT else (folder / bucket).is_dir()


def _remedy(folder: Path, environment: Mapping[str, str]) -> str:
    if folder != buckets.MOUNT:
        return f"make the folder that {buckets.ROOT_VARIABLE} names"
    if buckets.ROOT_VARIABLE in environment:
        return f"give the command the path below {environment[buckets.ROOT_VARIABLE]}"
    # Seen on a3-ultragpu and a4 machines (GoogleCloudPlatform/gcsfuse#4333).
    return (
        "let the job's service account read the bucket; where Vertex AI mounts none at all, take another machine type"
    )


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
