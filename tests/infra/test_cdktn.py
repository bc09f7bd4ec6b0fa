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
    raw_plans: dict[str, dict[str, Any]], on_cdktn: Project, empty_cloud: Snapshot, stack: str
) -> None:
    empty_cloud.restore(on_cdktn)
    on_cdktn[stack].plan().expect(2)
    assert known(on_cdktn[stack].show()) == known(raw_plans[stack])


def known(plan: dict[str, Any]) -> dict[str, Any]:
    """All that a plan says: values, what is unknown, references, providers and their versions."""
    timeless = {key: value for key, value in plan.items() if key != "timestamp"}
    # A set to Terraform, which writes it in another order each time.
    return {**timeless, "relevant_attributes": sorted(plan["relevant_attributes"], key=str)}
