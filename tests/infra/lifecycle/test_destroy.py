"""What must not be destroyed refuses; what may goes completely, the other way round than it came."""

from collections.abc import Callable

import pytest

from terraform_house import KEPT_BY_GOOGLE, STACKS, Project, Snapshot

pytestmark = pytest.mark.area("destroy")


@pytest.mark.parametrize("stack", ["foundation", "artifacts", "training"])
def test_a_protected_stack_refuses_to_be_destroyed(applied: Project, stack: str) -> None:
    before = applied.objects
    outcome = applied[stack].destroy().expect(1)
    kept = {f"{kind}.{name}" for kind, name in protected(applied, stack)}
    named = {address for address in kept if f"Resource {address} has lifecycle.prevent_destroy set" in outcome.message}
    assert named
    assert outcome.done == {}
    assert applied.objects == before


POOL = "google_vertex_ai_persistent_resource.night_a100_v1_pool"


def test_with_protection_off_and_applied_everything_goes(
    project_of: Callable[[str], Project], after_apply: Snapshot
) -> None:
    project = project_of("unprotected")
    after_apply.restore(project)
    for stack in STACKS:
        assert project[stack].apply().expect(0).done == ({POOL: "update"} if stack == "training" else {})
    for stack in reversed(STACKS):
        assert set(project[stack].destroy().expect(0).done.values()) == {"delete"}
        assert project[stack].objects == {}
    assert set(project.objects) == KEPT_BY_GOOGLE


def test_protection_that_was_not_yet_taken_off_by_an_apply_keeps_the_pool(
    project_of: Callable[[str], Project], after_apply: Snapshot
) -> None:
    project = project_of("unprotected")
    after_apply.restore(project)
    outcome = project["training"].destroy().expect(1)
    assert "persistentResources/night-a100-v1: its deletion is protected" in outcome.message
    assert POOL in project["training"].objects


def protected(project: Project, stack: str) -> list[tuple[str, str]]:
    """Resources that the configuration keeps."""
    resources = project[stack].configuration["resource"]
    return [
        (kind, name)
        for kind, named in resources.items()
        for name, block in named.items()
        if block.get("lifecycle", {}).get("prevent_destroy")
    ]
