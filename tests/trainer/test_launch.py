"""What processes are told, and what the launcher understands."""

import json
from pathlib import Path
from typing import Any

import pytest

from launchers import TWO, Start, ended, script
from trainer.errors import ConfigError
from trainer.launch import main, parse
from trainer.run import Paths

PRINT_ENVIRONMENT = """
import json, os, sys
from pathlib import Path
name = os.environ.get("RANK", os.environ.get("JAX_PROCESS_ID", os.environ["REPLICA"]))
Path(sys.argv[1], name).write_text(json.dumps({"arguments": sys.argv[2:], **os.environ}))
"""


def seen(folder: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in folder.iterdir() if path.name.isdigit()}


def test_a_command_of_torch_finds_ranks_of_processes_and_not_the_platforms(tmp_path: Path, start: Start) -> None:
    command = [*script(tmp_path, PRINT_ENVIRONMENT), str(tmp_path), "--lr=0.1"]
    processes = start(TWO, ["--nproc-per-node", "2", "--", *command], RANK="0", WORLD_SIZE="2", MASTER_ADDR="x")
    assert ended(processes) == [0, 0]

    found = seen(tmp_path)
    assert sorted(found) == ["0", "1", "2", "3"]
    assert [found[rank]["LOCAL_RANK"] for rank in sorted(found)] == ["0", "1", "0", "1"]
    assert {each["WORLD_SIZE"] for each in found.values()} == {"4"}
    assert {each["MASTER_ADDR"] for each in found.values()} == {"127.0.0.1"}
    assert len({each["MASTER_PORT"] for each in found.values()}) == 1
    assert found["3"]["arguments"] == ["--lr=0.1"]
    assert processes[1].stderr is not None
    assert "RANK=0, WORLD_SIZE=2, MASTER_ADDR=x of the platform: replaced" in processes[1].stderr.read()


def test_torch_itself_joins_with_what_it_is_told(tmp_path: Path, start: Start) -> None:
    text = """
import sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([float(dist.get_rank() + 1)])
dist.all_reduce(value)
open(f"{sys.argv[1]}/sum-{dist.get_rank()}", "w").write(str(value.item()))
dist.destroy_process_group()
"""
    command = [*script(tmp_path, text), str(tmp_path)]
    assert ended(start(TWO, ["--", *command], GLOO_SOCKET_IFNAME="lo"), 60) == [0, 0]
    assert [(tmp_path / f"sum-{rank}").read_text() for rank in (0, 1)] == ["3.0", "3.0"]


def test_a_machine_without_cluster_and_gpu_runs_one_process(tmp_path: Path, start: Start) -> None:
    command = [*script(tmp_path, PRINT_ENVIRONMENT), str(tmp_path)]
    assert ended(start([("workerpool0", 0)], ["--", *command], CLUSTER_SPEC="")) == [0]
    (only,) = seen(tmp_path).values()
    assert (only["RANK"], only["WORLD_SIZE"], only["MASTER_ADDR"]) == ("0", "1", "127.0.0.1")


@pytest.mark.parametrize("pool", ["workerpool2", "workerpool3"])
def test_pools_2_and_3_are_no_ranks_and_end_at_once(tmp_path: Path, start: Start, pool: str) -> None:
    command = [*script(tmp_path, PRINT_ENVIRONMENT), str(tmp_path)]
    processes = start([*TWO, (pool, 0)], ["--", *command])
    assert ended(processes) == [0, 0, 0]
    assert sorted(seen(tmp_path)) == ["0", "1"]
    assert processes[2].stderr is not None
    assert f"{pool}-0 holds no rank" in processes[2].stderr.read()


def test_tensorflow_keeps_tf_config_letter_for_letter_and_parameter_servers_run(tmp_path: Path, start: Start) -> None:
    replica = ("workerpool2", 0)
    text = '{ "cluster":{"chief":["127.0.0.1:1"],"ps":["127.0.0.1:2"]}, "task":{"type":"ps","index":0} }'
    command = [*script(tmp_path, PRINT_ENVIRONMENT), str(tmp_path)]
    processes = start([("workerpool0", 0), replica], ["--framework", "tensorflow", "--", *command], TF_CONFIG=text)
    assert processes[1].wait(60) == 0
    assert json.loads((tmp_path / "workerpool2-0").read_text())["TF_CONFIG"] == text
    # The same text does not fit the chief.
    assert processes[0].wait(60) == 2
    assert processes[0].stderr is not None
    assert "trainer: TF_CONFIG: it takes workerpool0-0 for ps 0" in processes[0].stderr.read()


def test_jax_is_told_address_count_and_number(tmp_path: Path, start: Start) -> None:
    command = [*script(tmp_path, PRINT_ENVIRONMENT), str(tmp_path)]
    assert ended(start(TWO, ["--framework", "jax", "--", *command])) == [0, 0]
    found = seen(tmp_path)
    assert sorted(found) == ["0", "1"]
    assert {each["JAX_NUM_PROCESSES"] for each in found.values()} == {"2"}
    (address,) = {each["JAX_COORDINATOR_ADDRESS"] for each in found.values()}
    assert address.startswith("127.0.0.1:")
    assert not any("JAX_LOCAL_DEVICE_IDS" in each or "RANK" in each for each in found.values())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nproc-per-node", "none", "--", "true"], "not a number of processes"),
        (["--gpus", "--", "true"], "'--gpus' is no option of the launcher"),
        (["--"], "no command follows"),
        (["--framework", "jax"], "our trainer is of torch"),
        (["--framework", "tensorflow", "--nproc-per-node", "2", "--", "true"], "one process a replica"),
        (["--", "no-such-program-anywhere"], "no-such-program-anywhere: no such file or directory"),
        (["--", "cat", "--input=/gcs/no-such-bucket/x"], "/gcs/no-such-bucket: --input=/gcs/no-such-bucket/x needs it"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CLUSTER_SPEC", "TRAINER_PROCESSES_PER_NODE"):
        monkeypatch.delenv(name, raising=False)
    assert main(arguments) == 2
    (line,) = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("launch: ")]
    assert line.startswith("trainer: ")
    assert words in line


def test_a_trial_of_our_trainer_reads_buckets_takes_parameters_and_reports_once(
    dataset: Paths, tmp_path: Path, start: Start
) -> None:
    (tmp_path / "data").symlink_to(dataset.output)
    processes = start(
        TWO,
        ["--preset=smoke", "--set=model.arguments={width=4}", "--lr=0.125", "--batch_size=8.0", "--epochs=2"],
        OVERNIGHT_GCS_ROOT=str(tmp_path),
        OVERNIGHT_SNAPSHOT=f"gs://data/{dataset.snapshot.relative_to(dataset.output)}",
        OVERNIGHT_SHARDS=f"/gcs/data/{dataset.shards.relative_to(dataset.output)}",
        AIP_MODEL_DIR="gs://runs/trial/3/model/",
        CLOUD_ML_TRIAL_ID="3",
        CLOUD_ML_HP_METRIC_FILE=str(tmp_path / "output.metrics"),
    )
    assert ended(processes, 120) == [0, 0]
    run = tmp_path / "runs" / "trial" / "3"
    assert (run / "model" / "model.safetensors").exists()
    config = json.loads((run / "config.json").read_text())
    assert (config["optimizer"]["learning_rate"], config["batch_size"], config["epochs"]) == (0.125, 8, 2)
    reported = [json.loads(line) for line in (tmp_path / "output.metrics").read_text().splitlines()]
    measured = json.loads((run / "metrics.json").read_text())["epochs"]
    assert [line["accuracy"] for line in reported] == [str(each["validation"]["accuracy"]) for each in measured]
    assert {line["trial"] for line in reported} == {"3"}


def test_an_unknown_parameter_ends_a_trial_with_2(
    dataset: Paths, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CLUSTER_SPEC", raising=False)
    data = [f"--snapshot={dataset.snapshot}", f"--shards={dataset.shards}", f"--output={tmp_path / 'run'}"]
    assert main(["--preset=smoke", *data, "--learning_rat=0.1"]) == 2
    (line,) = [line for line in capfd.readouterr().err.splitlines() if not line.startswith("launch: ")]
    assert line == "trainer: --learning_rat: no field has this name; did you mean --learning_rate?"


def test_without_a_command_everything_else_is_for_our_trainer() -> None:
    options = parse(["--preset=night-16", "--join-timeout", "60", "--set", "epochs=3", "--lr=0.1"], {})
    assert options.ours
    assert options.command[-4:] == ("--preset=night-16", "--set", "epochs=3", "--lr=0.1")
    assert options.join_seconds == 3600


def test_a_second_double_dash_is_the_commands() -> None:
    assert parse(["--", "env", "--", "true"], {}).command == ("env", "--", "true")


def test_replicas_wait_for_45_minutes_unless_told_otherwise() -> None:
    assert parse([], {}).join_seconds == 45 * 60


def test_an_environment_variable_can_give_the_number_of_processes() -> None:
    assert parse([], {"TRAINER_PROCESSES_PER_NODE": "3"}).processes == 3
    with pytest.raises(ConfigError):
        parse([], {"TRAINER_PROCESSES_PER_NODE": "0"})
