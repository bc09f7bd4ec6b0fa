"""`terraform validate` on every stack of every configuration: each attribute, block, reference and type."""

from collections.abc import Callable

import pytest

from terraform_house import STACKS, Project
from terraform_variants import VARIANTS

pytestmark = pytest.mark.area("validate")


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_terraform_accepts_the_stack(project_of: Callable[[str], Project], variant: str, stack: str) -> None:
    verdict = project_of(variant)[stack].validate()
    assert verdict["valid"], [(found["summary"], found["detail"]) for found in verdict["diagnostics"]]
    assert verdict["diagnostics"] == []


def test_terraform_refuses_a_misspelled_attribute(empty: Project) -> None:
    workspace = empty["artifacts"]
    misspelled = workspace.configuration
    misspelled["resource"]["google_storage_bucket"]["data_bucket"]["uniform_bucket_level_acces"] = True
    with workspace.changed(misspelled):
        verdict = workspace.validate()
    assert not verdict["valid"]
    assert any("uniform_bucket_level_acces" in found["detail"] for found in verdict["diagnostics"])
