"""The configurations that the stacks are synthesized from: config/example.yaml, and what is changed in it."""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "config" / "example.yaml"
TODAY = "2026-11-30"
"""The day that the dates in the files are compared with: a test must not fail because a pool's term has ended."""
Edit = Callable[[dict[str, Any]], None]


def _as_it_stands(_: dict[str, Any]) -> None:
    return


def _unprotected(google: dict[str, Any]) -> None:
    google["protect"] = False


def _googles_keys(google: dict[str, Any]) -> None:
    google["cmek"]["enabled"] = False


def _cloud_scheduler(google: dict[str, Any]) -> None:
    google["schedules"]["engine"] = "cloud_scheduler"


def _without_options(google: dict[str, Any]) -> None:
    for optional in ("cmek", "bigquery", "persistent_resources", "storage", "artifact_registry"):
        google.pop(optional, None)
    google["cloud_build"].pop("private_pool")
    for schedule in ("weekly", "monthly_tuning"):
        google["schedules"][schedule]["enabled"] = False


def _second_pool(google: dict[str, Any]) -> None:
    pools = google["persistent_resources"]
    pools.append({**pools[0], "name": "night-a100-v2"})


def _other_machine(google: dict[str, Any]) -> None:
    spec = google["persistent_resources"][0]["resource_pools"][0]["machine_spec"]
    spec.update(machine_type="a2-highgpu-2g", accelerator_count=2)


VARIANTS: Mapping[str, Edit] = {
    "example": _as_it_stands,
    "unprotected": _unprotected,
    "google-keys": _googles_keys,
    "cloud-scheduler": _cloud_scheduler,
    "minimal": _without_options,
    "second-pool": _second_pool,
    "other-machine": _other_machine,
}


def write_configurations(folder: Path) -> dict[str, Path]:
    """One environment file a variant. Each in a folder of its own: environments side by side must not share names."""
    written = {}
    for name, edit in VARIANTS.items():
        content = YAML(typ="safe", pure=True).load(EXAMPLE.read_text(encoding="utf-8"))
        edit(content["google"])
        written[name] = folder / name / "example.yaml"
        written[name].parent.mkdir(parents=True)
        with written[name].open("w", encoding="utf-8") as file:
            YAML(typ="safe", pure=True).dump(content, file)
    return written


ALL_AT_ONCE = """
import sys
from infra.__main__ import main
pairs = zip(sys.argv[1::2], sys.argv[2::2])
sys.exit(max(main(["--config", config, "--output", output]) for config, output in pairs))
"""


def missing() -> str | None:
    """What synthesis needs and this machine lacks; None when all is there."""
    for package in ("cdktf", "cdktf_cdktf_provider_google"):
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed (make infra-setup)"
    return None if shutil.which("node") else "node is not on the path (make infra-setup)"


def synthesize(
    configurations: Mapping[str, Path], folder: Path, environment: Mapping[str, str], cwd: Path = ROOT
) -> dict[str, Path]:
    """Write the stacks of every configuration in one process: starting the framework costs more than a stack."""
    outputs = {name: folder / name for name in configurations}
    environment = {**environment, "OVERNIGHT_NOW": TODAY}
    arguments = [str(path) for name, config in configurations.items() for path in (config, outputs[name])]
    run(sys.executable, "-c", ALL_AT_ONCE, *arguments, environment=environment, cwd=cwd)
    return outputs


def run(*command: str, environment: Mapping[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed."""
    result = subprocess.run(command, cwd=cwd, env=dict(environment), capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result
