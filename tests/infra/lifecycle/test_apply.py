"""The stacks applied in order by real Terraform to an emulated project that refuses what is not there yet."""

import pytest

from terraform_house import STACKS, Project


@pytest.mark.area("apply")
@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_is_applied_on_those_before_it(applied: Project, stack: str) -> None:
    assert set(applied[stack].objects) == addresses(applied, stack)


@pytest.mark.area("second plan")
@pytest.mark.parametrize("stack", STACKS)
def test_a_second_plan_changes_nothing(applied: Project, stack: str) -> None:
    assert applied[stack].plan().expect(0).changes == {}


def addresses(project: Project, stack: str) -> set[str]:
    """What the stack's configuration declares."""
    resources = project[stack].configuration["resource"]
    return {f"{kind}.{name}" for kind, named in resources.items() for name in named}
