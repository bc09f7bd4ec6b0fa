"""Real Terraform in a folder, on an emulated project."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Workspace:
    """A folder with one configuration, the emulated project that it acts on, and Terraform."""

    folder: Path
    cloud: Path
    environment: dict[str, str]

    def write(self, configuration: dict[str, Any]) -> None:
        (self.folder / "main.tf.json").write_text(json.dumps(configuration))

    def terraform(self, *arguments: str, expect: tuple[int, ...] = (0,)) -> str:
        """Run a command; its whole output. Fails when it ends with a code outside `expect`."""
        result = self._run(*arguments, "-no-color")
        assert result.returncode in expect, f"{arguments}: exit {result.returncode}\n{result.stdout}{result.stderr}"
        # Terraform draws a box around an error and breaks its lines.
        return " ".join((result.stdout + result.stderr).replace("│", " ").split())

    def apply(self, expect: tuple[int, ...] = (0,)) -> str:
        return self.terraform("apply", "-auto-approve", expect=expect)

    def problems(self) -> str:
        """What `terraform validate` has to say."""
        result = json.loads(self._run("validate", "-json").stdout)
        return " | ".join(f"{each['summary']}: {each.get('detail', '')}" for each in result["diagnostics"])

    def actions(self) -> dict[str, tuple[str, ...]]:
        """What a plan would do, by address; what it would leave alone is left out."""
        self.terraform("plan", "-out=plan")
        plan = json.loads(self._run("show", "-json", "plan").stdout)
        changes = {each["address"]: tuple(each["change"]["actions"]) for each in plan["resource_changes"]}
        return {address: actions for address, actions in changes.items() if actions not in (("no-op",), ("read",))}

    def objects(self, resource_type: str) -> dict[str, Any]:
        return dict(json.loads(self.cloud.read_text()).get(resource_type, {}))

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["terraform", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
