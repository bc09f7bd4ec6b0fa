"""Synthesis: the same environment gives the same bytes, wherever and however often it is written."""

import json
import sys
from pathlib import Path

import pytest

from terraform_house import STACKS
from terraform_variants import ROOT, TODAY, run

pytestmark = pytest.mark.area("synth")


def files(folder: Path) -> dict[str, bytes]:
    """Every file under `folder` by its path there."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("inside", [True, False], ids=["in the checkout", "in another folder"])
def test_a_second_synthesis_gives_the_same_bytes(
    synthesized: dict[str, Path],
    configurations: dict[str, Path],
    command_environment: dict[str, str],
    tmp_path: Path,
    inside: bool,
) -> None:
    options = ("--config", str(configurations["example"]), "--output", str(tmp_path / "out"), "--now", TODAY)
    cwd = ROOT if inside else tmp_path
    run(sys.executable, "-m", "infra", *options, environment=command_environment, cwd=cwd)
    first, second = files(synthesized["example"]), files(tmp_path / "out")
    assert set(first) == {"manifest.json", *(f"stacks/{stack}/cdk.tf.json" for stack in STACKS)}
    assert second == first


def test_a_stack_keeps_its_state_in_its_own_folder_of_the_bucket(synthesized: dict[str, Path]) -> None:
    for stack in STACKS:
        written = json.loads((synthesized["example"] / "stacks" / stack / "cdk.tf.json").read_text())
        assert written["terraform"]["backend"] == {
            "gcs": {"bucket": "acme-vision-prod-terraform-state", "prefix": f"overnight/example/{stack}"}
        }
