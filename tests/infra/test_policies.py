"""The policies over our own stacks: what Terraform really plans passes, and every mistake in it is denied."""

import json
from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.policies import FOLDERS
from overnight.policies.engines import ENGINES
from overnight.policies.errors import PolicyError
from overnight.policies.policies import Policies
from policies.documents import Document
from policies.mutations import MUTATIONS, Mutation
from terraform_house import STACKS, Project, Snapshot
from terraform_variants import TODAY, VARIANTS

DAY = date.fromisoformat(TODAY)
SCHEDULED = "google_cloud_scheduler_job"


@cache
def policies(engine: str) -> Policies:
    """The policies in one engine; a test that needs one which is not installed is skipped."""
    try:
        return Policies.load(FOLDERS, engine)
    except PolicyError as error:
        if "is not installed" not in error.sentence:
            raise
        pytest.skip(error.sentence)


@pytest.fixture(scope="module")
def scheduled_plan(project_of: Callable[[str], Project], empty_cloud: Snapshot) -> dict[str, Any]:
    """The training stack's first plan when Cloud Scheduler starts the pipelines."""
    project = project_of("cloud-scheduler")
    empty_cloud.restore(project)
    project["training"].plan().expect(2)
    return project["training"].show()


def stack_of(synthesized: dict[str, Path], variant: str, stack: str) -> dict[str, Any]:
    """A synthesized stack's JSON."""
    content: dict[str, Any] = json.loads((synthesized[variant] / "stacks" / stack / "cdk.tf.json").read_text())
    return content


@pytest.mark.area("policies")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("stack", STACKS)
def test_what_terraform_plans_passes(raw_plans: dict[str, dict[str, Any]], stack: str, engine: str) -> None:
    assert policies(engine).judge(raw_plans[stack], DAY) == []


@pytest.mark.area("policies")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_plan_for_cloud_scheduler_passes(scheduled_plan: dict[str, Any], engine: str) -> None:
    assert policies(engine).judge(scheduled_plan, DAY) == []


@pytest.mark.area("policies")
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_synthesized_passes(synthesized: dict[str, Path], variant: str, stack: str) -> None:
    assert policies("regorus").judge(stack_of(synthesized, variant, stack), DAY) == []


@pytest.mark.area("mutations")
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mistake_in_our_own_stacks_is_denied_by_exactly_its_rules(
    mutation: Mutation,
    raw_plans: dict[str, dict[str, Any]],
    scheduled_plan: dict[str, Any],
    synthesized: dict[str, Path],
) -> None:
    stack = "training" if mutation.stack == "any" else mutation.stack
    by_scheduler = SCHEDULED in mutation.needs
    if mutation.on == "plan":
        content = scheduled_plan if by_scheduler else raw_plans[stack]
    else:
        content = stack_of(synthesized, "cloud-scheduler" if by_scheduler else "example", stack)
    document = Document.copy_of(mutation.on, content)
    assert mutation.applies_to(document), f"{stack} holds none of {mutation.needs}"
    mutation.mutate(document)
    assert {found.id for found in policies("regorus").judge(document.content, DAY)} == mutation.expected
