"""`overnight job check` as a user types it."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from overnight.cli import main

ROOT = Path(__file__).parents[3]
EXAMPLE = str(ROOT / "config" / "example.yaml")
NOW = "2026-11-30T12:00:00Z"
BROKEN = (ROOT / "jobs" / "single-gpu.yaml").read_text().replace("replicaCount: 1", "replicaCount: 2")
WARNED = ROOT / "jobs" / "python-package.yaml"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def job(tmp_path, monkeypatch, capsys):
    """Runs `overnight job ARGUMENTS` in an empty folder, in this process."""

    def typed(*arguments: str) -> Done:
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv("OVERNIGHT_CONFIG", raising=False)
        monkeypatch.setattr(sys, "argv", ["overnight", "job", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return Done(end.value.code or 0, output.out, output.err)

    return typed


@pytest.fixture
def broken(tmp_path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return path


def test_sound_specs_end_with_one_line_and_exit_code_0(job):
    done = job("check", str(ROOT / "jobs" / "weekly-a100-spot.yaml"), "--config", EXAMPLE, "--now", NOW)
    assert done.code == 0
    quota, summary = done.stdout.splitlines()
    assert "needs 4 of aiplatform.googleapis.com/custom_model_training_preemptible_nvidia_a100_gpus" in quota
    assert summary == "1 spec checked: 0 errors, 0 warnings."


def test_an_error_is_a_row_and_exit_code_2(job, broken):
    done = job("check", "broken.yaml", "--config", EXAMPLE, "--now", NOW)
    assert done.code == 2
    line = next(number for number, text in enumerate(BROKEN.splitlines(), 1) if "replicaCount: 2" in text)
    row = next(text for text in done.stdout.splitlines() if f"broken.yaml:{line} " in text)
    assert "pool-0-replicas" in row
    assert "error" in row
    assert done.stdout.splitlines()[-1] == "1 spec checked: 1 error, 1 warning."
    assert done.stderr == ""


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--strict"], 2)])
def test_warnings_count_when_it_is_strict(options, code, job):
    done = job("check", str(WARNED), "--config", EXAMPLE, "--now", NOW, *options)
    assert done.code == code
    assert "prebuilt-end" in done.stdout


def test_a_folder_is_all_its_specs(job):
    done = job("check", str(ROOT / "jobs"), "--config", EXAMPLE, "--now", NOW)
    count = len(list((ROOT / "jobs").glob("*.yaml")))
    assert done.stdout.splitlines()[-1] == f"{count} specs checked, 1 for this machine only: 0 errors, 1 warning."


def test_json_holds_the_same(job, broken):
    done = job("check", "broken.yaml", str(WARNED), "--config", EXAMPLE, "--now", NOW, "--json")
    found = json.loads(done.stdout)
    assert done.code == 2
    assert (found["errors"], found["warnings"]) == (1, 2)
    first = found["specs"][0]
    assert first["path"] == "broken.yaml"
    assert first["for_the_cloud"] is True
    assert first["region"] == "us-central1"
    assert first["findings"][0]["field"] == "customJob.jobSpec.workerPoolSpecs[0].replicaCount"
    assert first["findings"][0]["line"]
    assert first["quotas"][0] == {
        "metric": "aiplatform.googleapis.com/custom_model_training_nvidia_t4_gpus",
        "amount": 2,
        "note": "",
    }


def test_the_day_decides_whether_an_image_is_past_its_end(job):
    done = job("check", str(WARNED), "--config", EXAMPLE, "--now", "2026-07-23T12:00:00Z")
    assert "prebuilt-support" in done.stdout
    assert "prebuilt-end" not in done.stdout


def test_without_an_environment_what_it_would_say_is_not_checked(job):
    done = job("check", str(ROOT / "jobs" / "persistent-resource.yaml"), "--now", NOW)
    assert done.code == 0


def test_an_environment_that_was_named_must_be_there(job):
    done = job("check", str(WARNED), "--config", "none.yaml")
    assert done.code == 2
    assert "no such environment file" in done.stderr


@pytest.mark.parametrize("place", ["none.yaml", "text.yaml"])
def test_a_file_that_is_no_spec_is_a_row_too(place, job, tmp_path):
    (tmp_path / "text.yaml").write_text("just text\n")
    done = job("check", place, "--config", EXAMPLE)
    assert done.code == 2
    assert "not-a-spec" in done.stdout


def test_an_empty_folder_is_one_sentence(job, tmp_path):
    (tmp_path / "empty").mkdir()
    done = job("check", "empty", "--config", EXAMPLE)
    assert done.code == 2
    assert done.stderr == "overnight: empty: there is no *.yaml file here; give a folder with job specs.\n"


def test_markup_in_a_spec_is_shown_as_it_stands(job, tmp_path):
    (tmp_path / "job.yaml").write_text("customJob: {displayName: x}\novernight: {model: '[red]x[/red]'}\n")
    done = job("check", "job.yaml", "--config", EXAMPLE)
    assert done.code == 2
    assert "'[red]x[/red]'" in done.stdout


def test_the_rules_are_the_table_of_the_documentation(job):
    done = job("rules")
    assert done.stdout.strip() in (ROOT / "docs" / "job-rules.md").read_text()
