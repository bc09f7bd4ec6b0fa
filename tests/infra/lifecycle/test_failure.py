"""An API that fails in the middle of an apply: what was made is kept, the next apply makes the rest, nothing twice."""

import pytest

from terraform import launch
from terraform_house import Project, Snapshot

pytestmark = pytest.mark.area("failure injection")

UNAVAILABLE = "googleapi: Error 503: The service is currently unavailable"
# Things that others wait for, and things that nobody does.
FAILING = (
    ("foundation", "google_kms_key_ring"),
    ("artifacts", "google_storage_bucket"),
    ("delivery", "google_cloudbuildv2_connection"),
    ("training", "google_logging_metric"),
)


@pytest.mark.parametrize(("stack", "kind"), FAILING)
def test_after_a_failure_the_next_apply_makes_what_is_missing(
    applied: Project, before_apply: dict[str, Snapshot], stack: str, kind: str
) -> None:
    everything = set(applied[stack].objects)
    stages = list(before_apply)
    unbroken = before_apply[stages[stages.index(stack) + 1]].objects
    before_apply[stack].restore(applied)
    applied.hurry()
    launch.switch(applied.cloud, fail=[f"{kind}:create:{UNAVAILABLE}"])

    first = applied[stack].apply().expect(1)
    assert UNAVAILABLE in first.message
    assert {address.split(".")[0] for address in first.failed} == {kind}
    kept = set(applied[stack].objects)
    assert kept == set(first.done)
    assert kept < everything

    launch.switch(applied.cloud, fail=[])
    second = applied[stack].apply().expect(0)
    assert second.done == dict.fromkeys(everything - kept, "create")
    assert applied.objects == unbroken, "the project differs from one that was applied without a failure"
    assert applied[stack].plan().expect(0).changes == {}
