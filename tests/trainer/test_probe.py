"""What a machine is said to mean for the run, and what is refused before it starts."""

from pathlib import Path

import pytest

from trainer import buckets, probe
from trainer.buckets import local_path
from trainer.cluster import Cluster
from trainer.probe import Machine, NotMounted, describe_buckets, describe_disk, describe_gpus, describe_shared_memory

GIB = 1 << 30


def machine(shared_memory: int | None = GIB, disk_free: int = 100 * GIB, gpus: int = 0) -> Machine:
    return Machine(shared_memory, disk_free, gpus)


def cluster(gpus: int) -> Cluster:
    spec = {"machineSpec": {"acceleratorType": "NVIDIA_L4", "acceleratorCount": gpus}} if gpus else {}
    return Cluster({"workerpool0": ("a:2222",)}, "workerpool0", 0, {"workerPoolSpecs": [spec]})


@pytest.mark.parametrize(
    ("seen", "environment", "ours", "words", "added"),
    [
        (machine(GIB, gpus=8), {}, False, "1024 MiB: enough", {}),
        (machine(64 << 20), {}, False, "64 MiB: DataLoader workers may die of a bus error, use num_workers=0", {}),
        (machine(64 << 20), {}, True, "loader needs none of it", {}),
        (machine(64 << 20, gpus=2), {}, False, "NCCL_SHM_DISABLE=1 is set", {"NCCL_SHM_DISABLE": "1"}),
        (machine(64 << 20, gpus=2), {"NCCL_SHM_DISABLE": "0"}, False, "NCCL_SHM_DISABLE=0 stays", {}),
        (machine(None, gpus=2), {}, False, "not there: DataLoader workers cannot", {}),
    ],
)
def test_shared_memory_is_said_with_what_follows(
    seen: Machine, environment: dict[str, str], ours: bool, words: str, added: dict[str, str]
) -> None:
    line, variables = describe_shared_memory(seen, environment, ours=ours)
    assert words in line
    assert variables == added


@pytest.mark.parametrize(
    ("seen", "asked", "processes", "words"),
    [
        (0, 0, 1, "no GPU: 1 process on the CPU"),
        (0, 8, 1, "no GPU is seen and machineSpec has 8"),
        (4, 8, 4, "4 GPUs of the 8 in machineSpec"),
        (8, 8, 8, "8 GPUs: 8 processes"),
        (8, 8, 1, "8 GPUs and 1 process: --nproc-per-node auto"),
    ],
)
def test_gpus_are_held_against_the_machine_spec(seen: int, asked: int, processes: int, words: str) -> None:
    assert words in describe_gpus(machine(gpus=seen), cluster(asked), "torch", processes)


def test_a_disk_that_is_nearly_full_is_said_to_be() -> None:
    assert "raise diskSpec.bootDiskSizeGb" in describe_disk(machine(disk_free=GIB))
    assert "room for" in describe_disk(machine())


def test_looking_around_sees_this_machine() -> None:
    seen = probe.look({"CUDA_VISIBLE_DEVICES": "0,2"})
    assert seen.gpus == 2
    assert seen.disk_free > 0
    assert probe.look({"CUDA_VISIBLE_DEVICES": "-1"}).gpus == probe.look({"CUDA_VISIBLE_DEVICES": ""}).gpus == 0


@pytest.mark.parametrize(
    "command",
    [
        ["python", "train.py", "/gcs/bucket/x"],
        ["python", "train.py", "--data=/gcs/bucket/x"],
        ["sh", "-c", "cp /gcs/bucket/x /tmp && python train.py"],
    ],
)
def test_a_path_in_a_mount_that_is_not_there_is_refused(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = tmp_path / "gcs"
    mount.mkdir()
    monkeypatch.setattr(buckets, "MOUNT", mount)
    with pytest.raises(NotMounted, match=f"^{mount}/bucket: .* needs it and it is not there; let the job's service"):
        describe_buckets(command, {}, ours=False)
    (mount / "bucket").mkdir()
    assert describe_buckets(command, {}, ours=False) == f"{mount} holds bucket: read and written as files"


def test_other_folders_of_that_name_are_no_mount() -> None:
    assert "/gcs" in describe_buckets(["ls", "/mnt/gcs/bucket", "x/gcs/bucket"], {}, ours=False)


def test_a_client_may_do_without_the_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "MOUNT", tmp_path / "gcs")
    environment = {"AIP_MODEL_DIR": "gs://bucket/model/", "HOME": "gs://"}
    line = describe_buckets(["python", "train.py", "--data=gs://bucket/x"], environment, ours=False)
    assert line.endswith("is not there: AIP_MODEL_DIR can be used with a Cloud Storage client only")


OURS = ["python", "-m", "trainer"]


@pytest.mark.parametrize(
    ("command", "environment", "names"),
    [
        ([*OURS, "--snapshot=gs://data/snapshots/x"], {}, "--snapshot=gs://data/snapshots/x"),
        (OURS, {"OVERNIGHT_SHARDS": "gs://data/shards"}, "OVERNIGHT_SHARDS"),
        (OURS, {"AIP_MODEL_DIR": "gs://data/model/", "AIP_CHECKPOINT_DIR": "gs://x/"}, "AIP_MODEL_DIR"),
        ([*OURS, "--output", "/tmp/run"], {"AIP_MODEL_DIR": "gs://data/model/"}, None),
        ([*OURS, "--snapshot=/data/x"], {"OVERNIGHT_SNAPSHOT": "gs://data/x"}, None),
        (OURS, {"AIP_TENSORBOARD_LOG_DIR": "gs://data/logs/"}, None),
    ],
)
def test_our_trainer_needs_what_it_will_read_and_write(
    command: list[str], environment: dict[str, str], names: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "MOUNT", tmp_path / "gcs")
    if names is None:
        assert "is not there" in describe_buckets(command, environment, ours=True)
        return
    with pytest.raises(NotMounted, match="needs it") as caught:
        describe_buckets(command, environment, ours=True)
    assert caught.value.problem.startswith(names)
    assert caught.value.exit_code == 2


def test_a_local_folder_of_buckets_serves_as_mount(tmp_path: Path) -> None:
    environment = {"OVERNIGHT_SNAPSHOT": "gs://data/x", "OVERNIGHT_GCS_ROOT": str(tmp_path / "buckets")}
    with pytest.raises(NotMounted, match="make the folder that OVERNIGHT_GCS_ROOT names"):
        describe_buckets(OURS, environment, ours=True)
    (tmp_path / "buckets").mkdir()
    assert "holds data" in describe_buckets(OURS, environment, ours=True)


@pytest.mark.parametrize("text", ["gs://bucket/x/y", "/gcs/bucket/x/y"])
def test_a_bucket_is_a_folder_of_the_mount(text: str) -> None:
    assert local_path(text, {}) == Path("/gcs/bucket/x/y")
    assert local_path(text, {"OVERNIGHT_GCS_ROOT": "/srv/buckets"}) == Path("/srv/buckets/bucket/x/y")


def test_other_paths_stay_as_they_are() -> None:
    assert local_path("runs/7", {"OVERNIGHT_GCS_ROOT": "/srv"}) == Path("runs/7")
    assert local_path("/data/gcs/x", {"OVERNIGHT_GCS_ROOT": "/srv"}) == Path("/data/gcs/x")
