"""`overnight run` as a user types it, with small programs for training."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from overnight.cli import main
from overnight.files import canonical_json

NOW = "2026-03-03T02:00:00Z"

SPEC = """\
customJob:
  displayName: weekly
  jobSpec:
    workerPoolSpecs:
      - containerSpec: &program
          command: [python, train.py]
          args: ["$(OVERNIGHT_RUN_ID)"]
      - containerSpec: *program
overnight:
  model: classifier
"""

TRAINS = """
import json, os, pathlib, sys
run = pathlib.Path(os.environ['AIP_MODEL_DIR']).parent
assert sys.argv[1] == run.name == os.environ['OVERNIGHT_RUN_ID']
assert pathlib.Path(os.environ['OVERNIGHT_SNAPSHOT'], 'manifest.json').exists()
print(json.dumps({'step': 1, 'loss': 0.5}))
"""


@dataclass(frozen=True)
class Done:
    """How a command ended, under the names of subprocess.CompletedProcess."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(place, monkeypatch, capsys):
    """Runs `overnight run ARGUMENTS` in the working folder, in this process: the imports take a second or more."""

    def typed(*arguments: str) -> Done:
        monkeypatch.chdir(place)
        monkeypatch.setattr(sys, "argv", ["overnight", "run", *arguments, "--config", "env.yaml"])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return Done(end.value.code or 0, output.out, output.err)

    return typed


@pytest.fixture
def place(root, tmp_path) -> Path:
    """A working folder with a spec, a training program and a root that holds one snapshot."""
    root.snapshot()
    (tmp_path / "job.yaml").write_text(SPEC)
    (tmp_path / "train.py").write_text(TRAINS)
    (tmp_path / "env.yaml").write_text("environment: test\nroot: root\n")
    return tmp_path


def begin(place: Path) -> subprocess.Popen[str]:
    """Start `overnight run` as a process and wait until both replicas print `ready`."""
    command = [sys.executable, "-m", "overnight", "run", "job.yaml", "--config", "env.yaml"]
    started = subprocess.Popen(command, cwd=place, text=True, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and started.poll() is None:
        if sum("ready" in log.read_text() for log in place.glob("root/runs/*/logs/*.log")) == 2:
            break
        time.sleep(0.05)
    return started


def record(place: Path) -> dict:
    (path,) = (place / "root" / "runs").glob("*/run.json")
    return json.loads(path.read_text())


def test_a_job_that_succeeds_leaves_a_record(place, run):
    done = run("job.yaml", "--now", NOW)
    assert done.returncode == 0, done.stderr
    written = record(place)
    assert written["status"] == "succeeded"
    assert written["run_id"].startswith("20260303-020000-")
    assert written["started"] == NOW
    assert written["job"]["spec_path"] == "job.yaml"
    assert f"Run {written['run_id']} succeeded" in done.stdout
    folder = place / "root" / "runs" / written["run_id"]
    assert (folder / "logs" / "workerpool0-0.log").read_text() == '{"step": 1, "loss": 0.5}\n'
    assert {path.name for path in folder.iterdir()} == {".lock", "logs", "run.json", "spec.json"}


def test_json_is_the_record_and_nothing_else(place, run):
    done = run("job.yaml", "--json", "--verbose")
    assert json.loads(done.stdout) == record(place)
    assert 'workerpool0-0 | {"step": 1, "loss": 0.5}' in done.stderr


def test_a_dry_run_prints_the_message_and_writes_nothing(place, run):
    done = run("job.yaml", "--dry-run", "--now", NOW)
    message = json.loads(done.stdout)
    assert message["displayName"] == "weekly"
    assert "20260303-020000-" in message["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"]
    assert not (place / "root" / "runs").exists()
    sent = run("job.yaml", "--now", NOW)
    assert sent.returncode == 0
    (spec,) = (place / "root" / "runs").glob("*/spec.json")
    assert spec.read_bytes() == canonical_json(message)


def test_a_job_that_fails_says_why_and_keeps_its_folder(place, run):
    (place / "train.py").write_text("print('epoch 1'); raise RuntimeError('out of luck')")
    done = run("job.yaml")
    assert done.returncode == 2
    assert "RuntimeError: out of luck" in done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("overnight: ")
    assert "ended with code 1" in last
    assert record(place)["status"] == "failed"
    assert record(place)["weights_sha256"] is None
    assert f"--resume {record(place)['run_id']}" in last


def test_a_failure_that_would_come_again_is_not_to_be_resumed(place, run):
    (place / "train.py").write_text("print('trainer: --preset: there is no preset demmo'); raise SystemExit(2)")
    done = run("job.yaml")
    assert done.returncode == 2
    assert "there is no preset demmo" in done.stderr
    assert "correct it and start a new run" in done.stderr
    assert "--resume" not in done.stderr


def test_the_same_spec_at_the_same_second_is_the_same_run(place, run):
    assert run("job.yaml", "--now", NOW).returncode == 0
    before = record(place)
    again = run("job.yaml", "--now", NOW)
    assert again.returncode == 2
    assert "is there already" in again.stderr
    assert record(place) == before


def test_ctrl_c_saves_stops_and_tells_how_to_go_on(place, run):
    (place / "train.py").write_text("""
import json, os, pathlib, signal, sys, time
task = json.loads(os.environ['CLUSTER_SPEC'])['task']['type']
saved = pathlib.Path(os.environ['AIP_CHECKPOINT_DIR'], task)
saved.parent.mkdir(exist_ok=True)
if saved.exists():
    print('going on from', saved.read_text())
    sys.exit(0)
def stop(*_):
    saved.write_text('step 7')
    sys.exit(143)
signal.signal(signal.SIGTERM, stop)
print('ready')
time.sleep(60)
""")
    started = begin(place)
    started.send_signal(signal.SIGINT)
    _, stderr = started.communicate(timeout=40)
    assert started.returncode == 130
    assert record(place)["status"] == "cancelled"
    run_id = record(place)["run_id"]
    assert f"overnight run job.yaml --resume {run_id}" in stderr
    resumed = run("job.yaml", "--resume", run_id, "--verbose")
    assert resumed.returncode == 0, resumed.stderr
    assert "going on from step 7" in resumed.stderr
    assert record(place)["run_id"] == run_id
    assert record(place)["status"] == "succeeded"


def test_only_the_unchanged_spec_goes_on_with_a_run(place, run):
    (place / "train.py").write_text("raise SystemExit(1)")
    run("job.yaml")
    (place / "job.yaml").write_text(SPEC.replace("weekly", "daily"))
    done = run("job.yaml", "--resume", record(place)["run_id"])
    assert done.returncode == 2
    assert "the spec has changed" in done.stderr


def test_a_resumed_run_keeps_its_snapshot_when_a_newer_one_came(place, run, root):
    (place / "train.py").write_text("raise SystemExit(1)")
    run("job.yaml")
    first = record(place)
    root.snapshot("20260309")
    (place / "train.py").write_text(TRAINS)
    assert run("job.yaml", "--resume", first["run_id"]).returncode == 0
    assert record(place)["snapshot"] == first["snapshot"]


def test_two_processes_cannot_work_in_one_run(place, run):
    (place / "train.py").write_text("import time; print('ready'); time.sleep(60)")
    first = begin(place)
    try:
        (folder,) = (place / "root" / "runs").iterdir()
        second = run("job.yaml", "--resume", folder.name)
        assert second.returncode == 2
        assert "another run is running in this folder" in second.stderr
    finally:
        first.kill()
        first.communicate()
    (place / "train.py").write_text(TRAINS)
    assert run("job.yaml", "--resume", folder.name).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "spec", "expected"),
    [
        (["none.yaml"], SPEC, "there is no such job spec"),
        (["job.yaml"], SPEC.replace("displayName", "displayNam"), "line 2"),
        (["job.yaml"], SPEC.replace("classifier", "classifier\n  snapshot: 20250101-0123456789ab"), "no snapshot"),
        (["job.yaml", "--resume", "20260101-000000-00000000"], SPEC, "there is no run"),
        (["job.yaml", "--resume", "../../x"], SPEC, "there is no run"),
        (["job.yaml", "--now", "yesterday"], SPEC, "is not a time"),
        (["job.yaml"], SPEC.replace("command: [python, train.py]", "imageUri: x"), "there is no image here"),
    ],
)
def test_a_mistake_is_one_sentence_and_starts_nothing(arguments, spec, expected, place, run):
    (place / "job.yaml").write_text(spec)
    done = run(*arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.strip().splitlines()[-1].startswith("overnight: ")
    assert "Traceback" not in done.stderr
    assert not (place / "root" / "runs").exists()


def test_without_a_snapshot_the_remedy_is_told(place, run):
    (place / "env.yaml").write_text("environment: test\nroot: empty\n")
    done = run("job.yaml")
    assert done.returncode == 2
    assert "overnight snapshot create" in done.stderr
    assert not (place / "empty").exists()
