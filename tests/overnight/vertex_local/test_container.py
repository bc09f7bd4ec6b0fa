"""A replica's `podman run`, word for word; and jobs of such commands, with a program that stands for podman."""

import os
from pathlib import Path

import pytest

from overnight.vertex_local.cluster import JobIdentity, ReplicaName
from overnight.vertex_local.command import NotLocal
from overnight.vertex_local.container import Containers, Mount
from overnight.vertex_local.messages import parse_custom_job
from overnight.vertex_local.runner import check_starts, run_job

IMAGE = "localhost:5005/overnight-images/trainer-cpu@sha256:" + "a" * 64
IDENTITY = JobIdentity("0", "42")


def job(**container):
    return parse_custom_job(
        {"displayName": "job", "jobSpec": {"workerPoolSpecs": [{"replicaCount": 1, "containerSpec": container}]}}
    )


def words(given, service=None):
    mounts = (Mount(Path("/root/snapshots")), Mount(Path("/root/runs/1"), writable=True))
    return Containers(mounts, {"HOME": "/h"})(given, ReplicaName(0, 0), service or {"CLOUD_ML_JOB_ID": "42"})


def test_a_container_has_no_privileges_and_sees_only_what_it_is_given():
    command = words(job(imageUri=IMAGE, command=["python3", "-m", "trainer.launch"], args=["--preset=demo"]))
    assert " ".join(command.arguments) == (
        "podman run --rm --replace --name overnight-42-workerpool0-0 --network host"
        " --read-only --cap-drop all --security-opt no-new-privileges --tmpfs /tmp:rw,size=1g --shm-size 1g"
        " --volume /root/snapshots:/root/snapshots:ro --volume /root/runs/1:/root/runs/1:rw,U"
        f" --env CLOUD_ML_JOB_ID=42 --entrypoint python3 {IMAGE} -m trainer.launch --preset=demo"
    )
    assert command.environment == {"HOME": "/h"}


def test_an_ordinary_user_is_the_same_user_inside():
    mount = Mount(Path("/data/runs/1"), writable=True)
    command = Containers((mount,), {}, rootless=True)(job(imageUri=IMAGE, command=["true"]), ReplicaName(0, 0), {})
    text = " ".join(command.arguments)
    assert f"--userns keep-id --user {os.getuid()}:{os.getgid()}" in text
    assert "--volume /data/runs/1:/data/runs/1:rw " in text


def test_without_a_command_the_images_own_entry_point_runs():
    command = words(job(imageUri=IMAGE, args=["--preset=demo"]))
    assert command.arguments[-2:] == (IMAGE, "--preset=demo")
    assert "--entrypoint" not in command.arguments


def test_variables_are_filled_in_as_vertex_ai_does():
    given = job(
        imageUri=IMAGE,
        command=["sh"],
        args=["$(NAME)", "$$(NAME)"],
        env=[{"name": "NAME", "value": "run $(CLOUD_ML_JOB_ID)"}],
    )
    command = words(given)
    assert command.arguments[-2:] == ("run 42", "$(NAME)")
    assert "NAME=run 42" in command.arguments


def test_a_pool_without_an_image_is_refused():
    with pytest.raises(NotLocal, match=r"workerPoolSpecs\[0\].containerSpec.imageUri: there is no image"):
        check_starts(job(command=["python3"]), Containers((), {}))


def test_what_a_killed_container_leaves_is_removed_and_the_job_ends(recorder, tmp_path, monkeypatch):
    calls = tmp_path / "calls"
    podman = tmp_path / "bin" / "podman"
    podman.parent.mkdir()
    podman.write_text(f'#!/bin/sh\necho "$*" >> {calls}\n[ "$1" != run ] || exit 3\n')
    podman.chmod(0o755)
    monkeypatch.setenv("PATH", f"{podman.parent}:{os.environ['PATH']}")
    end = run_job(
        job(imageUri=IMAGE, command=["true"]),
        IDENTITY,
        tmp_path / "logs",
        recorder.events.append,
        lambda: 0,
        starter=Containers((), dict(os.environ)),
    )
    assert end.verdict == "Replica workerpool0-0 ended with code 3."
    started, removed = calls.read_text().splitlines()
    assert started.startswith("run --rm")
    assert removed == "rm --force --ignore --time 0 overnight-42-workerpool0-0"
