"""Real Terraform, process by process, on temporary copies of the synthesized stacks and one emulated project."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from terraform import launch

STACKS = ("foundation", "artifacts", "delivery", "training")
"""In the order in which they are applied; destroyed in the opposite one."""

KEPT_BY_GOOGLE = {
    "google_kms_crypto_key",
    "google_kms_key_ring",
    "google_project_service",
    "google_project_service_identity",
}
"""What is still there when everything was destroyed: a ring cannot be deleted, a key only loses its versions, an
enabled API stays by our own wish (disable_on_destroy), an agent belongs to Google."""

LOCAL_STATE = {"terraform": {"backend": {"local": {}}}}
"""Replaces the stack's Cloud Storage backend; Terraform merges files named *_override last."""


Objects = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Outcome:
    """One Terraform process that has ended: exit code, and what it said as `-json` events or as text."""

    arguments: tuple[str, ...]
    code: int
    stdout: str
    stderr: str

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """Terraform's machine-readable messages in order, one a line."""
        return [json.loads(line) for line in self.stdout.splitlines() if line.startswith('{"@')]

    @property
    def errors(self) -> list[dict[str, Any]]:
        """Diagnostics of severity error, with `summary`, `detail` and often `address`."""
        found = [event["diagnostic"] for event in self.events if event.get("type") == "diagnostic"]
        return [diagnostic for diagnostic in found if diagnostic["severity"] == "error"]

    @property
    def message(self) -> str:
        """All errors as one text."""
        return "\n".join(" ".join((error["summary"] + "\n" + error["detail"]).split()) for error in self.errors)

    @property
    def failed(self) -> set[str]:
        """Addresses that the errors name."""
        return {error["address"] for error in self.errors if error.get("address")}

    @property
    def changes(self) -> dict[str, str]:
        """Planned changes by address: create, update, replace, delete, import, move."""
        planned = (event["change"] for event in self.events if event.get("type") == "planned_change")
        return {change["resource"]["addr"]: change["action"] for change in planned if change["action"] != "read"}

    @property
    def done(self) -> dict[str, str]:
        """What apply or destroy carried out, by address: create, update, delete; data sources are left out."""
        hooks = (event["hook"] for event in self.events if event.get("type") == "apply_complete")
        return {hook["resource"]["addr"]: hook["action"] for hook in hooks if hook["action"] != "read"}

    def expect(self, *codes: int) -> "Outcome":
        """This outcome, or a failure with everything Terraform said when it ended otherwise."""
        if self.code not in codes:
            said = self.message or self.stdout
            pytest.fail(f"terraform {' '.join(self.arguments)}: exit {self.code}\n{said}\n{self.stderr}")
        return self


@dataclass
class Workspace:
    """A temporary copy of one stack's folder with local state; never inside the repository.

    Terraform's lock file then holds the emulator's checksum, which must not be committed.
    """

    folder: Path
    environment: Mapping[str, str]
    ready: bool = field(default=False, init=False)

    @classmethod
    def of(cls, stack: Path, folder: Path, environment: Mapping[str, str]) -> "Workspace":
        """Copy the stack's Terraform JSON into `folder`."""
        folder.mkdir(parents=True)
        shutil.copy(stack / "cdk.tf.json", folder)
        workspace = cls(folder, environment)
        workspace.write("zz_override.tf.json", LOCAL_STATE)
        return workspace

    @property
    def configuration(self) -> dict[str, Any]:
        """The stack's Terraform JSON."""
        loaded: dict[str, Any] = json.loads((self.folder / "cdk.tf.json").read_text())
        return loaded

    @property
    def state_file(self) -> Path:
        """Terraform's local state."""
        return self.folder / "terraform.tfstate"

    @property
    def objects(self) -> dict[str, dict[str, Any]]:
        """The attributes in the state, by address."""
        if not self.state_file.exists():
            return {}
        resources = json.loads(self.state_file.read_text())["resources"]
        managed = (resource for resource in resources if resource["mode"] == "managed")
        return {f"{one['type']}.{one['name']}": one["instances"][0]["attributes"] for one in managed}

    def write(self, name: str, content: Mapping[str, Any]) -> None:
        """Add or replace a configuration file."""
        (self.folder / name).write_text(json.dumps(content, indent=1))

    @contextmanager
    def changed(self, configuration: Mapping[str, Any]) -> Iterator[None]:
        """The stack with another configuration, for as long as the context lasts."""
        file = self.folder / "cdk.tf.json"
        before = file.read_text()
        self.write(file.name, configuration)
        try:
            yield
        finally:
            file.write_text(before)

    def run(self, *arguments: str) -> Outcome:
        """Run terraform once, in this folder."""
        environment = {**os.environ, "TF_INPUT": "0", **self.environment}
        result = subprocess.run(
            ["terraform", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        return Outcome(arguments, result.returncode, result.stdout, result.stderr)

    def init(self) -> "Workspace":
        """Prepare the folder once: backend and providers."""
        if not self.ready:
            self.run("init", "-no-color").expect(0)
            self.ready = True
        return self

    def validate(self) -> dict[str, Any]:
        """Terraform's verdict on the configuration: `valid`, `diagnostics`."""
        verdict: dict[str, Any] = json.loads(self.init().run("validate", "-json").stdout)
        return verdict

    def plan(self, *options: str) -> Outcome:
        """Plan; the code is 0 without changes, 2 with changes, 1 with errors. The plan is kept in `plan.bin`."""
        return self.init().run("plan", "-json", "-detailed-exitcode", "-out=plan.bin", *options)

    def show(self) -> dict[str, Any]:
        """The last plan as `terraform show -json` gives it."""
        shown: dict[str, Any] = json.loads(self.run("show", "-json", "plan.bin").expect(0).stdout)
        return shown

    def apply(self, *options: str) -> Outcome:
        """Plan and apply in one go; give "plan.bin" to apply the kept plan."""
        return self.init().run("apply", "-json", "-auto-approve", *options)

    def destroy(self, *options: str) -> Outcome:
        """Destroy everything in the state."""
        return self.init().run("destroy", "-json", "-auto-approve", *options)

    def import_(self, address: str, identifier: str) -> Outcome:
        """Take one object of the cloud into the state."""
        return self.init().run("import", "-no-color", address, identifier)

    def outputs(self) -> dict[str, Any]:
        """Values of the outputs in the state."""
        found = json.loads(self.run("output", "-json").expect(0).stdout)
        return {name: output["value"] for name, output in found.items()}


@dataclass
class Project:
    """The four stacks of one configuration, and the emulated project that they are applied to."""

    cloud: Path
    stacks: dict[str, Workspace]

    @classmethod
    def prepare(cls, synthesized: Path, folder: Path, cloud: Path, environment: Mapping[str, str]) -> "Project":
        """Workspaces for the stacks under `synthesized`, in `folder`."""
        copies = {name: Workspace.of(synthesized / "stacks" / name, folder / name, environment) for name in STACKS}
        return cls(cloud, copies)

    def __getitem__(self, stack: str) -> Workspace:
        return self.stacks[stack]

    def apply(self, stacks: Sequence[str] = STACKS) -> dict[str, Outcome]:
        """Apply in order; every stack must succeed."""
        return {name: self[name].apply().expect(0) for name in stacks}

    @property
    def objects(self) -> Objects:
        """What is in the cloud: by resource type, by id."""
        return _objects(self.cloud.read_text())

    def hurry(self) -> None:
        """No delays, until a snapshot is restored: they only matter where something could come too late by bad luck."""
        launch.switch(self.cloud, enable_seconds=0.0, create_seconds=0.0)

    def named(self, stack: str, address: str) -> tuple[str, str]:
        """Type and id of the object that a resource stands for."""
        return address.split(".")[0], self[stack].objects[address]["id"]

    def change(self, stack: str, address: str, path: str, value: Any) -> None:
        """Change an object behind Terraform's back; the path is dotted names and positions."""
        kind, identifier = self.named(stack, address)
        *parents, last = (int(part) if part.isdigit() else part for part in path.split("."))
        with launch.edit(self.cloud) as contents:
            place: Any = contents[kind][identifier]
            for part in parents:
                place = place[part]
            assert place[last] != value, f"{address}: {path} is {value!r} already"
            place[last] = value

    def remove(self, stack: str, address: str) -> None:
        """Delete an object behind Terraform's back."""
        kind, identifier = self.named(stack, address)
        with launch.edit(self.cloud) as contents:
            del contents[kind][identifier]


@dataclass(frozen=True)
class Snapshot:
    """A project at one moment: its cloud and its states, to go back to."""

    cloud: str
    states: dict[str, str]

    @classmethod
    def of(cls, project: Project) -> "Snapshot":
        """Remember `project` as it is."""
        files = {name: stack.state_file for name, stack in project.stacks.items()}
        return cls(project.cloud.read_text(), {name: file.read_text() for name, file in files.items() if file.exists()})

    @property
    def objects(self) -> Objects:
        """What was in the cloud: by resource type, by id."""
        return _objects(self.cloud)

    def restore(self, project: Project) -> None:
        """Put cloud and states back; a stack that had no state then has none again."""
        project.cloud.write_text(self.cloud)
        for name, stack in project.stacks.items():
            stack.state_file.unlink(missing_ok=True)
            stack.state_file.with_suffix(".tfstate.backup").unlink(missing_ok=True)
            if name in self.states:
                stack.state_file.write_text(self.states[name])


def _objects(cloud: str) -> Objects:
    """Without the emulator's switches, and without types of which nothing is left."""
    return {kind: found for kind, found in json.loads(cloud).items() if not kind.startswith("//") and found}
