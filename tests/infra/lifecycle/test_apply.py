"""The stacks applied in order by real Terraform to an emulated project that refuses what is not there yet."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from terraform_house import STACKS, Project, Snapshot

PLACE = "projects/acme-vision-prod/locations/us-central1"
REGISTRY = r"us-central1-(docker|kfp|python)\.pkg\.dev/acme-vision-prod/example-"
# What each output's values look like: for those who read them, the control plane and people.
OUTPUTS = {
    ("foundation", "accounts"): r"example-[a-z]+@acme-vision-prod\.iam\.gserviceaccount\.com",
    ("foundation", "keys"): rf"{PLACE}/keyRings/example-overnight/cryptoKeys/[a-z]+",
    ("artifacts", "buckets"): r"gs://acme-vision-prod-example-[a-z]+",
    ("artifacts", "datasets"): r"example_[a-z]+",
    ("artifacts", "repositories"): rf"{REGISTRY}[a-z]+",
    ("artifacts", "templates"): rf"https://{REGISTRY}pipelines",
    ("delivery", "repository"): rf"{PLACE}/connections/example-github/repositories/example-repository",
    ("delivery", "subscription"): r"projects/acme-vision-prod/subscriptions/example-cloud-builds",
    ("delivery", "topic"): r"projects/acme-vision-prod/topics/cloud-builds",
    ("delivery", "triggers"): r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    ("delivery", "worker_pool"): rf"{PLACE}/workerPools/example-builds",
    ("training", "notification_channels"): r"projects/acme-vision-prod/notificationChannels/[0-9]+",
    ("training", "persistent_resources"): rf"{PLACE}/persistentResources/[a-z0-9-]+|[A-Za-z0-9_-]+",
    ("training", "schedules"): r"vertex_ai|[0-9]+",
    ("training", "tensorboard"): r"projects/481516234207/locations/us-central1/tensorboards/[0-9]+",
}


@pytest.mark.area("apply")
@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_is_applied_on_those_before_it(applied: Project, stack: str) -> None:
    assert set(applied[stack].objects) == addresses(applied, stack)


@pytest.mark.area("apply")
@pytest.mark.parametrize("stack", STACKS)
def test_the_outputs_say_where_things_are(applied: Project, stack: str) -> None:
    outputs = applied[stack].outputs()
    assert outputs.pop("policy")["stack"] == stack
    assert set(outputs) == {name for place, name in OUTPUTS if place == stack}
    for name, value in outputs.items():
        found = list(leaves(value))
        assert found
        assert [text for text in found if not re.fullmatch(OUTPUTS[stack, name], text)] == []


def leaves(value: Any) -> Iterator[str]:
    """The strings and numbers inside maps and lists."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    else:
        yield str(value)


@pytest.mark.area("apply")
def test_the_smallest_environment_is_applied_too(project_of: Callable[[str], Project], empty_cloud: Snapshot) -> None:
    project = project_of("minimal")
    empty_cloud.restore(project)
    project.apply()
    for stack in STACKS:
        assert set(project[stack].objects) == addresses(project, stack)
        assert project[stack].plan().expect(0).changes == {}


@pytest.mark.area("second plan")
@pytest.mark.parametrize("stack", STACKS)
def test_a_second_plan_changes_nothing(applied: Project, stack: str) -> None:
    assert applied[stack].plan().expect(0).changes == {}


def addresses(project: Project, stack: str) -> set[str]:
    """What the stack's configuration declares."""
    resources = project[stack].configuration["resource"]
    return {f"{kind}.{name}" for kind, named in resources.items() for name in named}
