"""The same stacks on CDK Terrain, cdktf's living fork: Terraform plans the same from both."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from terraform_house import STACKS, Project, Snapshot
from terraform_variants import synthesize

pytestmark = [
    pytest.mark.area("cdktn"),
    pytest.mark.skipif(importlib.util.find_spec("cdktn") is None, reason="cdktn is not installed (make infra-setup)"),
]


@pytest.fixture(scope="module")
def on_cdktn(
    configurations: dict[str, Path],
    tmp_path_factory: pytest.TempPathFactory,
    command_environment: dict[str, str],
    emulated: dict[str, str],
    cloud: Path,
) -> Project:
    """The example's stacks, synthesized by the other framework with its own bindings."""
    environment = {**command_environment, "OVERNIGHT_CDK": "cdktn"}
    folder = tmp_path_factory.mktemp("cdktn")
    outputs = synthesize({"example": configurations["example"]}, folder, environment)
    return Project.prepare(outputs["example"], folder / "workspaces", cloud, emulated)


@pytest.mark.parametrize("stack", STACKS)
def test_both_frameworks_give_the_same_plan(
    empty: Project, on_cdktn: Project, empty_cloud: Snapshot, stack: str
) -> None:
    assert planned(on_cdktn, stack) == planned(empty, stack)


def planned(project: Project, stack: str) -> dict[str, Any]:
    """All that Terraform knows of the plan: values, what is unknown, references, providers and their versions."""
    project[stack].plan().expect(2)
    shown = project[stack].show()
    del shown["timestamp"]
    # A set to Terraform, which writes it in another order each time.
    shown["relevant_attributes"] = sorted(shown["relevant_attributes"], key=str)
    return shown
