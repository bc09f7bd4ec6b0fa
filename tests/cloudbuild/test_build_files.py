"""The build files are in order by their own check; their shell does what they say, run with recorded commands."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from overnight.builds.check import check
from overnight.builds.commands import commands_of
from overnight.builds.file import read_build
from overnight.builds.given import TRIGGERS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "cloudbuild"
FILES = sorted(FOLDER.glob("*.yaml"))
STACKS = ("foundation", "artifacts", "delivery", "training")


def steps(name: str) -> dict[str, dict[str, Any]]:
    """The steps of a file by id."""
    return {step["id"]: step for step in read_build(FOLDER / name).steps}


def words(name: str, step: str) -> list[str]:
    """What a step runs, without what a called script runs in turn."""
    build = read_build(FOLDER / name)
    index = [one["id"] for one in build.steps].index(step)
    commands = commands_of(build, TRIGGERS, None)
    return [" ".join(one.words) for one in commands if one.step == index and one.name != "set"]


def test_there_is_a_file_for_each_trigger() -> None:
    assert {path.name for path in FILES} == {
        *("pull-request.yaml", "infra-plan.yaml", "infra-apply.yaml", "images.yaml", "pipeline.yaml"),
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_build_file_is_in_order(path: Path) -> None:
    assert check(read_build(path)) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_build_says_how_long_it_may_take(path: Path) -> None:
    assert re.fullmatch(r"[1-9][0-9]*s", read_build(path).data["timeout"])


def test_a_pull_request_is_held_against_everything_that_is_checked_offline() -> None:
    subjects = {folder.name for folder in (ROOT / "policies").iterdir()} - {"lib"}
    assert set(words("pull-request.yaml", "policies")) == {
        f"conftest verify --policy policies/lib --policy policies/{subject}" for subject in subjects
    }
    assert words("pull-request.yaml", "build-files") == [".venv/bin/overnight build check cloudbuild/"]
    assert words("pull-request.yaml", "job-specs") == [
        ".venv/bin/overnight job check jobs/",
        ".venv/bin/overnight image pin jobs/*.yaml --check",
    ]
    assert words("pull-request.yaml", "test") == ["make test"]


@pytest.mark.parametrize(("file", "action"), [("infra-plan.yaml", "plan"), ("infra-apply.yaml", "apply")])
def test_all_stacks_are_handled_in_the_order_of_their_life_cycles(file: str, action: str) -> None:
    text = (FOLDER / file).read_text()
    assert re.findall(r"cloudbuild/stack\.sh (\w+) (\w+)", text) == [(action, stack) for stack in STACKS]


def test_a_stack_is_planned_only_after_the_former_is_applied() -> None:
    waits = {name: step.get("waitFor") for name, step in steps("infra-apply.yaml").items()}
    assert waits["foundation"] == ["synthesize", "policies"]
    assert [waits[stack] for stack in STACKS[1:]] == [[stack] for stack in STACKS[:-1]]


def test_the_policies_that_a_stack_is_held_against_stand() -> None:
    for folder in re.findall(r"--policy (\S+)", (FOLDER / "stack.sh").read_text()):
        assert list((ROOT / folder).glob("*.rego")), folder


class Recorder:
    """A checkout with one synthesized stack, where `terraform` and `conftest` write down how they were called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "calls"
        (folder / "cdktf.out/stacks/artifacts").mkdir(parents=True)
        (folder / "bin").mkdir()

    def command(self, name: str, body: str = "") -> None:
        path = self.folder / "bin" / name
        path.write_text(f'#!/usr/bin/env bash\necho "{name} $*" >> "{self.log}"\n{body}\n')
        path.chmod(0o755)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        return subprocess.run(
            [str(FOLDER / "stack.sh"), *arguments],
            cwd=self.folder,
            env=environment,
            text=True,
            capture_output=True,
            check=False,
        )

    def calls(self) -> list[str]:
        return self.log.read_text().replace(f"{self.folder}/", "").splitlines()


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    made = Recorder(tmp_path)
    made.command("terraform", 'case " $* " in *" show "*) echo "{}" ;; esac')
    made.command("conftest")
    return made


def test_planning_takes_no_lock_and_applies_nothing(recorder: Recorder) -> None:
    assert recorder.run("plan", "artifacts").returncode == 0
    folder = "cdktf.out/stacks/artifacts"
    where = f"terraform -chdir={folder}"
    policies = "--policy policies/lib --policy policies/terraform"
    assert recorder.calls() == [
        f"{where} init -input=false -no-color",
        f"{where} plan -input=false -no-color -lock=false -out=plans/artifacts.tfplan",
        f"{where} show -json plans/artifacts.tfplan",
        f"conftest test {policies} plans/artifacts.json {folder}/cdk.tf.json",
    ]
    assert (recorder.folder / "plans/artifacts.json").read_text() == "{}\n"


def test_exactly_the_plan_that_the_policies_passed_is_applied(recorder: Recorder) -> None:
    assert recorder.run("apply", "artifacts").returncode == 0
    *_, judged, applied = recorder.calls()
    assert judged.startswith("conftest test")
    assert applied.endswith("apply -input=false -no-color -lock-timeout=10m plans/artifacts.tfplan")
    assert not [call for call in recorder.calls() if "-lock=false" in call]


def test_what_the_policies_refuse_is_not_applied(recorder: Recorder) -> None:
    recorder.command("conftest", "exit 1")
    assert recorder.run("apply", "artifacts").returncode != 0
    assert not [call for call in recorder.calls() if " apply " in call]


def test_a_plan_that_fails_is_neither_judged_nor_applied(recorder: Recorder) -> None:
    recorder.command("terraform", 'case " $* " in *" plan "*) exit 1 ;; esac')
    assert recorder.run("apply", "artifacts").returncode != 0
    assert len(recorder.calls()) == 2


@pytest.mark.parametrize("arguments", [(), ("destroy", "artifacts"), ("plan",)])
def test_anything_else_than_planning_or_applying_a_stack_is_refused(
    recorder: Recorder, arguments: tuple[str, ...]
) -> None:
    result = recorder.run(*arguments)
    assert result.returncode != 0
    assert "usage: cloudbuild/stack.sh plan|apply STACK" in result.stderr
    assert not recorder.log.exists()
