"""Nothing is made before what it needs: the emulated project refuses it then, as Google does."""

from collections.abc import Callable, Iterable
from itertools import groupby

import pytest

from terraform_graph import Edge, implied, stated, without
from terraform_house import STACKS, Project, Snapshot, Workspace

pytestmark = pytest.mark.area("strict order")

FIRST_REFUSAL = {
    "artifacts": "artifactregistry.googleapis.com has not been used in project acme-vision-prod before",
    "delivery": "cloudbuild.googleapis.com has not been used in project acme-vision-prod before",
    "training": "aiplatform.googleapis.com has not been used in project acme-vision-prod before",
}


@pytest.mark.parametrize("stack", FIRST_REFUSAL)
def test_a_stack_that_is_applied_before_foundation_says_what_is_missing(empty: Project, stack: str) -> None:
    outcome = empty[stack].apply().expect(1)
    assert FIRST_REFUSAL[stack] in outcome.message


def test_delivery_before_artifacts_misses_the_logs_bucket(
    project_of: Callable[[str], Project], before_apply: dict[str, Snapshot]
) -> None:
    project = project_of("example")
    before_apply["artifacts"].restore(project)
    assert "acme-vision-prod-example-logs does not exist" in project["delivery"].apply().expect(1).message


@pytest.mark.parametrize("stack", ["foundation", "delivery"])
def test_without_any_one_stated_dependency_the_stack_is_refused(
    project_of: Callable[[str], Project], before_apply: dict[str, Snapshot], stack: str
) -> None:
    project = project_of("example")
    workspace = project[stack]
    unneeded: set[Edge] = set()
    for edges in by_target(set(stated(workspace.configuration)) - set(implied(workspace.configuration))):
        before_apply[stack].restore(project)
        project.hurry()
        unneeded |= applied_all_the_same(workspace, edges)
    assert unneeded == set()


def test_a_dependency_that_another_one_implies_names_the_resources_own_api(empty: Project) -> None:
    for stack in STACKS:
        for _, needed in implied(empty[stack].configuration):
            assert needed.startswith("google_project_service.")


def by_target(edges: Iterable[Edge]) -> list[set[Edge]]:
    """The edges that lead to one resource, for each; those of data sources apart: they are read before all else."""

    def key(edge: Edge) -> tuple[str, bool]:
        return edge[1], edge[0].startswith("data.")

    return [set(group) for _, group in groupby(sorted(edges, key=key), key=key)]


def applied_all_the_same(workspace: Workspace, edges: set[Edge]) -> set[Edge]:
    """Which resources Terraform makes although nothing makes what they are said to need.

    All edges lead to the same resource and no other way does, so a targeted apply without them leaves it out.
    """
    targets = [f"-target={source}" for source, _ in edges]
    with workspace.changed(without(workspace.configuration, edges)):
        outcome = workspace.apply(*targets)
    return {edge for edge in edges if edge[0] not in outcome.failed}
