"""The build files, held against Cloud Build's own field names; their shell, run with recorded commands."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "cloudbuild"
FILES = sorted(FOLDER.glob("*.yaml"))
STACKS = ("foundation", "artifacts", "delivery", "training")

# google.devtools.cloudbuild.v1 (proto of google-cloud-build 3.43), in JSON names; what a file may set, not all.
BUILD = {"steps", "timeout", "options", "artifacts", "images", "substitutions", "tags", "availableSecrets", "queueTtl"}
STEP = {"id", "name", "script", "args", "entrypoint", "env", "secretEnv", "dir", "waitFor", "timeout", "volumes"}
OPTIONS = {
    *("logging", "pool", "automapSubstitutions", "dynamicSubstitutions", "env", "secretEnv", "requestedVerifyOption"),
    *("diskSizeGb", "machineType", "defaultLogsBucketBehavior", "logStreamingOption", "volumes"),
}
BUILT_IN = {
    *("PROJECT_ID", "BUILD_ID", "COMMIT_SHA", "SHORT_SHA", "BRANCH_NAME", "TRIGGER_NAME", "LOCATION"),
    "BUILDER_OUTPUT",  # a variable that every step has
}


def build(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = YAML(typ="safe", pure=True).load(path.read_text())
    return content


def steps() -> list[Any]:
    return [pytest.param(step, id=f"{path.name}-{step.get('id')}") for path in FILES for step in build(path)["steps"]]


def test_the_files_for_pull_requests_and_infrastructure_stand() -> None:
    assert {"pull-request.yaml", "infra-plan.yaml", "infra-apply.yaml"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_build_file_has_only_fields_that_cloud_build_knows(path: Path) -> None:
    content = build(path)
    assert set(content) <= BUILD
    assert set(content["options"]) <= OPTIONS
    assert set(content.get("artifacts", {})) <= {"objects", "images", "pythonPackages"}
    for step in content["steps"]:
        assert set(step) <= STEP
        assert {"id", "name"} <= set(step)
        # Proto comment on `script`: neither entrypoint nor args beside it.
        assert "script" not in step or not {"entrypoint", "args"} & set(step)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_cloud_builds_own_client_reads_the_file(path: Path) -> None:
    client = pytest.importorskip("google.cloud.devtools.cloudbuild_v1", reason="google-cloud-build is not installed")
    parsed = client.Build.from_json(json.dumps(build(path)))
    assert [step.id for step in parsed.steps] == [step["id"] for step in build(path)["steps"]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_step_waits_only_for_steps_before_it(path: Path) -> None:
    before: set[str] = set()
    for step in build(path)["steps"]:
        assert set(step.get("waitFor", [])) - {"-"} <= before
        assert step["id"] not in before
        before.add(step["id"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_build_logs_to_cloud_logging_on_the_chosen_pool_and_ends(path: Path) -> None:
    content = build(path)
    assert content["options"]["logging"] == "CLOUD_LOGGING_ONLY"
    assert content["options"]["pool"] == {"name": "$_POOL"}
    assert re.fullmatch(r"[1-9][0-9]*s", content["timeout"])
    # Who builds is decided by the trigger, which is reviewed infrastructure; a pull request could change this file.
    assert "serviceAccount" not in content


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_images_are_named_by_digest(path: Path) -> None:
    for step in build(path)["steps"]:
        assert step["name"] == "$_BUILDER_IMAGE" or re.search(r"@sha256:[0-9a-f]{64}$", step["name"])
    assert ":latest" not in path.read_text()
    assert "gcr.io" not in path.read_text()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_scripts_see_substitutions_as_variables_and_only_those_of_cloud_build(path: Path) -> None:
    content = build(path)
    used = set(re.findall(r"\$\{?([A-Z_][A-Z0-9_]*)", "".join(step.get("script", "") for step in content["steps"])))
    assert not used or content["options"].get("automapSubstitutions") is True
    assert {name for name in used if not name.startswith("_")} <= BUILT_IN


@pytest.mark.parametrize("step", steps())
def test_a_script_is_strict_bash_that_parses(step: dict[str, Any]) -> None:
    assert step["script"].startswith("#!/usr/bin/env bash\nset -euo pipefail\n")
    checked = subprocess.run(["bash", "-n"], input=step["script"], text=True, capture_output=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("step", steps())
def test_a_step_calls_only_scripts_that_stand_and_may_be_run(step: dict[str, Any]) -> None:
    for called in re.findall(r"^(cloudbuild/\S+)", step["script"], re.MULTILINE):
        assert os.access(ROOT / called, os.X_OK), called


@pytest.mark.parametrize("file", [*FILES, FOLDER / "stack.sh"], ids=lambda path: path.name)
def test_the_policies_that_are_named_stand(file: Path) -> None:
    for folder in re.findall(r"--policy (\S+)", file.read_text()):
        assert list((ROOT / folder).glob("*.rego")), folder


@pytest.mark.parametrize(("file", "action"), [("infra-plan.yaml", "plan"), ("infra-apply.yaml", "apply")])
def test_all_stacks_are_handled_in_the_order_of_their_life_cycles(file: str, action: str) -> None:
    text = (FOLDER / file).read_text()
    assert re.findall(r"cloudbuild/stack\.sh (\w+) (\w+)", text) == [(action, stack) for stack in STACKS]


def test_a_stack_is_planned_only_after_the_former_is_applied() -> None:
    waits = {step["id"]: step.get("waitFor") for step in build(FOLDER / "infra-apply.yaml")["steps"]}
    assert waits["foundation"] == ["synthesize", "policies"]
    assert [waits[stack] for stack in STACKS[1:]] == [[stack] for stack in STACKS[:-1]]


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
