"""Real processes: launchers, signals, two runs at once, workers that come and go."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainer.__main__ import main
from trainer.command import default_output, fail_in_one_sentence
from trainer.launch import main as launch_main
from trainer.run import Paths

PYTHON = [sys.executable, "-m"]
SETTINGS = ("batch_size=8", "model.arguments={width=4}", "data.log_samples=true", "checkpoint.every_seconds=0")
SLOW = (*SETTINGS, "epochs=2000")


@pytest.fixture
def processes() -> Iterator[list["subprocess.Popen[str]"]]:
    """Started processes, killed at the end of the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


def arguments(data: Paths, output: Path, *settings: str) -> list[str]:
    fields = [part for setting in settings for part in ("--set", setting)]
    return [
        "--preset", "smoke", "--snapshot", str(data.snapshot), "--shards", str(data.shards),
        "--output", str(output), *fields,
    ]  # fmt: skip


def start(processes: list["subprocess.Popen[str]"], command: list[str]) -> "subprocess.Popen[str]":
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    processes.append(process)
    return process


def wait_for_step(output: Path, step: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        path = output / "samples.log"
        if path.exists() and path.read_text().count("\n") > step:
            return
        time.sleep(0.02)
    raise AssertionError(f"step {step} was not reached")


def test_sigterm_to_the_launcher_saves_within_ten_seconds_and_the_folder_is_free_again(
    dataset: Paths, tmp_path: Path, processes: list["subprocess.Popen[str]"]
) -> None:
    output = tmp_path / "run"
    first = start(processes, [*PYTHON, "trainer.launch", *arguments(dataset, output, *SLOW)])
    wait_for_step(output, 5)

    second = start(processes, [*PYTHON, "trainer", *arguments(dataset, output, *SLOW)])
    _, error = second.communicate(timeout=120)
    assert second.returncode == 2
    assert error.splitlines()[-1].startswith(f"trainer: {output}: another run is writing into this folder")

    began = time.monotonic()
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 143
    assert time.monotonic() - began < 10
    checkpoints = list((output / "checkpoints").glob("step-*"))
    assert len(checkpoints) == 1
    steps = [json.loads(line)["step"] for line in (output / "samples.log").read_text().splitlines()]
    assert checkpoints[0].name == f"step-{steps[-1] + 1:08d}"


def test_killing_the_launcher_kills_its_workers(
    dataset: Paths, tmp_path: Path, processes: list["subprocess.Popen[str]"]
) -> None:
    output = tmp_path / "run"
    launcher = start(processes, [*PYTHON, "trainer.launch", *arguments(dataset, output, *SLOW)])
    wait_for_step(output, 2)
    (worker,) = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
    launcher.kill()
    launcher.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{worker}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    steps = (output / "samples.log").read_text().count("\n")
    time.sleep(0.3)
    assert (output / "samples.log").read_text().count("\n") == steps


def test_the_launcher_hands_on_a_workers_exit_code_and_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLUSTER_SPEC", raising=False)
    missing = Paths(tmp_path / "none", tmp_path / "none", tmp_path)
    assert launch_main(arguments(missing, tmp_path / "run")) == 2
    lines = capfd.readouterr().err.splitlines()
    assert [line for line in lines if not line.startswith("launch: ")] == [
        f"trainer: {tmp_path / 'none' / 'manifest.json'}: this file is missing; check the folder's path."
    ]
    assert not (tmp_path / "run").exists()


def test_a_description_that_makes_no_sense_is_one_sentence(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTER_SPEC", "{")
    assert launch_main([]) == 2
    assert capfd.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["--preset", "nigth-16"], "did you mean 'night-16'"),
        (["--preset", "smoke", "--set", "epoch=3"], "did you mean 'epochs'"),
        (["--preset", "smoke", "--config", "nowhere.toml"], "nowhere.toml: there is no such configuration file"),
        (["--preset", "smoke", "--set", "compute.device=cuda"], "device=auto"),
        (["--preset", "smoke", "--set", "compute.precision=fp16", "--set", "compute.device=cpu"], "bf16"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_sentence_and_writes_nothing(
    dataset: Paths, tmp_path: Path, command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    data = ["--snapshot", str(dataset.snapshot), "--shards", str(dataset.shards), "--output", str(output)]
    assert fail_in_one_sentence(main, [*command, *data]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert words in error
    assert not output.exists()


def test_the_run_folder_is_the_parent_of_what_vertex_ai_names() -> None:
    assert default_output({"AIP_MODEL_DIR": "gs://bucket/runs/7/model/"}) == Path("/gcs/bucket/runs/7")
    assert default_output({"AIP_CHECKPOINT_DIR": "/runs/7/checkpoints/"}) == Path("/runs/7")
    assert default_output({}) is None
