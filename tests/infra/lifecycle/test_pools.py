"""A pool is changed by making the next one beside it."""

from collections.abc import Callable

import pytest

from terraform_house import Project, Snapshot

pytestmark = pytest.mark.area("pool change")

POOL = "google_vertex_ai_persistent_resource.night_a100_{}_pool"


def test_the_next_version_stands_beside_the_first(project_of: Callable[[str], Project], after_apply: Snapshot) -> None:
    project = project_of("second-pool")
    after_apply.restore(project)
    assert project["training"].plan().expect(2).changes == {
        POOL.format("v2"): "create",
        # It shows every pool.
        "google_monitoring_dashboard.night_dashboard": "update",
    }


def test_another_machine_in_place_is_refused(project_of: Callable[[str], Project], after_apply: Snapshot) -> None:
    project = project_of("other-machine")
    after_apply.restore(project)
    before = project.objects
    outcome = project["training"].apply().expect(1)
    assert f"Resource {POOL.format('v1')} has lifecycle.prevent_destroy set" in outcome.message
    assert outcome.done == {}
    assert project.objects == before
