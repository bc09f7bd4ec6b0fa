"""The framework's own command: synth, diff, deploy, destroy; state in a bucket, as in production.

Up to deploy, Terraform starts the emulated provider by itself, out of a filesystem mirror; after that the warm one
serves, which is quicker. OVERNIGHT_CLI_OUTPUT=FILE keeps what the commands printed, for the documentation.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from terraform import launch
from terraform_bucket import Bucket, serving
from terraform_house import KEPT_BY_GOOGLE, STACKS, Project, Snapshot
from terraform_variants import ROOT, TODAY

pytestmark = pytest.mark.area("cdktf-cli")

COMMANDS = ROOT / "infra" / "cli" / "node_modules" / ".bin"
STATES = {stack: f"overnight/example/{stack}/default.tfstate" for stack in STACKS}
COLOR = re.compile(r"\x1b\[[0-9;]*m")
# Without the lock of providers: cdktf would ask their registry for it, and not the mirror.
OFFLINE = "--skip-provider-lock"
# Two stacks at a time interrupt each other in the middle of a sentence, which could not be compared.
ONE_BY_ONE = ("--parallelism", "1")


@dataclass
class CommandLine:
    """A folder with cdktf.json, and the command in it."""

    folder: Path
    environment: dict[str, str]
    project: Project
    bucket: Bucket
    printed: list[str] = field(default_factory=list)

    def cdktf(self, *arguments: str) -> str:
        """Run the command; its output without colours."""
        command = ["cdktf", *arguments]
        result = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        text = COLOR.sub("", result.stdout + result.stderr)
        assert result.returncode == 0, text
        self.printed.append(f"$ {' '.join(command)}\n{text.strip()}\n")
        return text

    def terraform(self, stack: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Terraform in the stack's folder, as a person would."""
        folder = self.folder / "cdktf.out" / "stacks" / stack
        return subprocess.run(
            ["terraform", *arguments], cwd=folder, env=self.environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def command_line(
    tmp_path_factory: pytest.TempPathFactory,
    configurations: dict[str, Path],
    project_of: Callable[[str], Project],
    empty_cloud: Snapshot,
) -> Iterator[CommandLine]:
    """The unprotected variant, so that it can be destroyed, on the empty project; a bucket of its own."""
    if not (COMMANDS / "cdktf").exists():
        pytest.skip("the cdktf command is not installed (make infra-setup)")
    folder = tmp_path_factory.mktemp("cdktf")
    shutil.copy(ROOT / "cdktf.json", folder)
    (folder / "home").mkdir()
    project = project_of("unprotected")
    empty_cloud.restore(project)
    project.hurry()
    with serving("acme-vision-prod-terraform-state") as bucket:
        environment = {
            **os.environ,
            **launch.mirror(folder / "providers", project.cloud),
            **bucket.environment,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), str(COMMANDS), os.environ["PATH"]]),
            "HOME": str(folder / "home"),
            "CI": "true",
            "OVERNIGHT_CONFIG": str(configurations["unprotected"]),
            "OVERNIGHT_NOW": TODAY,
        }
        session = CommandLine(folder, environment, project, bucket)
        yield session
        if kept := os.environ.get("OVERNIGHT_CLI_OUTPUT"):
            Path(kept).write_text("\n".join(session.printed).replace(str(folder), "."))


@pytest.fixture(scope="module")
def first_diff(command_line: CommandLine) -> str:
    command_line.cdktf("synth")
    return command_line.cdktf("diff", "foundation", OFFLINE, "--skip-synth")


@pytest.fixture(scope="module")
def deployed(command_line: CommandLine, first_diff: str, emulated: dict[str, str]) -> str:
    printed = command_line.cdktf("deploy", "*", "--auto-approve", *ONE_BY_ONE, OFFLINE, "--skip-synth")
    command_line.environment |= emulated
    return printed


def test_the_command_writes_the_same_stacks(
    command_line: CommandLine, first_diff: str, synthesized: dict[str, Path]
) -> None:
    for stack in STACKS:
        place = Path("stacks") / stack / "cdk.tf.json"
        assert (command_line.folder / "cdktf.out" / place).read_bytes() == (
            synthesized["unprotected"] / place
        ).read_bytes()


def test_a_first_diff_adds_the_whole_stack(command_line: CommandLine, first_diff: str) -> None:
    count = len(declared(command_line, "foundation"))
    assert f"Plan:{count}toadd,0tochange,0todestroy." in unbroken(first_diff)


def declared(command_line: CommandLine, stack: str) -> set[str]:
    """Addresses of the resources in the stack's configuration."""
    resources = command_line.project[stack].configuration["resource"]
    return {f"{kind}.{name}" for kind, named in resources.items() for name in named}


def unbroken(text: str) -> str:
    """Without spaces and the stacks' names at the left: the command breaks Terraform's lines where it likes."""
    return re.sub(r"\s+", "", re.sub(rf"^({'|'.join(STACKS)})\b", "", text, flags=re.MULTILINE))


def test_deploy_applies_each_stack_after_those_it_needs(command_line: CommandLine, deployed: str) -> None:
    for stack in STACKS:
        assert applied(command_line, stack) == declared(command_line, stack)
    written = [name for change, name in command_line.bucket.changes if change == "written" and name in STATES.values()]
    first = list(dict.fromkeys(written))
    assert first[:2] == [STATES["foundation"], STATES["artifacts"]]


def applied(command_line: CommandLine, stack: str) -> set[str]:
    """Addresses of the resources in the stack's state, which is in the bucket."""
    state = json.loads(command_line.bucket.get(STATES[stack])[1])
    return {f"{found['type']}.{found['name']}" for found in state["resources"] if found["mode"] == "managed"}


def test_state_lies_in_the_bucket_and_was_locked_while_it_was_written(command_line: CommandLine, deployed: str) -> None:
    assert set(command_line.bucket.objects) == set(STATES.values())
    locked: set[str] = set()
    for change, name in command_line.bucket.changes:
        stack_folder, _, file = name.rpartition("/")
        if file == "default.tflock":
            locked = locked | {stack_folder} if change == "written" else locked - {stack_folder}
        else:
            assert stack_folder in locked, f"{name} was written without its lock"
    assert locked == set()


def test_a_diff_after_deploy_is_empty(command_line: CommandLine, deployed: str) -> None:
    assert "Nochanges." in unbroken(command_line.cdktf("diff", "training", OFFLINE, "--skip-synth"))


def test_a_lock_that_somebody_holds_stops_terraform(command_line: CommandLine, deployed: str) -> None:
    lock = STATES["delivery"].replace("tfstate", "tflock")
    held = {"ID": "1", "Operation": "OperationTypeApply", "Who": "nightly@build", "Version": "1.11.4"}
    command_line.bucket.put(lock, json.dumps(held).encode())
    refused = command_line.terraform("delivery", "plan", "-no-color")
    command_line.bucket.delete(lock)
    assert refused.returncode == 1
    assert "Error acquiring the state lock" in refused.stderr
    assert "nightly@build" in refused.stderr


def test_destroy_takes_everything_away_and_the_page_shows_what_was_printed(
    command_line: CommandLine, deployed: str
) -> None:
    command_line.cdktf("destroy", "*", "--auto-approve", *ONE_BY_ONE, OFFLINE, "--skip-synth")
    assert [applied(command_line, stack) for stack in STACKS] == [set()] * len(STACKS)
    assert set(command_line.project.objects) == KEPT_BY_GOOGLE
    said = [unbroken(text) for text in by_stack("\n".join(command_line.printed)).values()]
    for line in shown_lines(ROOT / "docs" / "infra-cdktf.md"):
        assert any(unbroken(line) in text for text in said), line


def by_stack(text: str) -> dict[str, str]:
    """What each stack said: two that run at the same time interrupt each other in the middle of a sentence."""
    said = dict.fromkeys(("", *STACKS), "")
    speaker = ""
    for line in text.splitlines(keepends=True):
        first = line.split(" ", 1)[0].strip()
        speaker = first if first in STACKS else "" if line.startswith("$ ") else speaker
        said[speaker] += line
    return said


def shown_lines(page: Path) -> list[str]:
    """Lines of output that the page shows, without the commands and the marks for what is left out."""
    blocks = re.findall(r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if not line.startswith(("$ ", "…"))]
