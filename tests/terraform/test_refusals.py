"""What real `terraform validate` refuses of a stack, against the emulated provider's schemas and rules."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from terraform.workspace import Workspace

Resource = dict[str, Any]
Change = Callable[[Resource], object]


def _rename(old: str, new: str) -> Change:
    return lambda resource: resource.update({new: resource.pop(old)})


def _inside(path: str, change: Change) -> Change:
    def changed(resource: Resource) -> None:
        part: Any = resource
        for step in path.split("."):
            part = part[int(step)] if step.isdigit() else part[step]
        change(part)

    return changed


def _set(**values: Any) -> Change:
    return lambda resource: resource.update(values)


def _without(name: str) -> Change:
    return lambda resource: resource.pop(name)


BUCKET, ACCOUNT, JOB = "google_storage_bucket", "google_service_account", "google_cloud_scheduler_job"
REPOSITORY, POOL = "google_artifact_registry_repository", "google_vertex_ai_persistent_resource"

REFUSED: dict[str, tuple[str, Change, str]] = {
    "a misspelled attribute": (
        BUCKET,
        _rename("location", "locaton"),
        'No argument or block type is named "locaton"',
    ),
    "a missing attribute": (REPOSITORY, _without("repository_id"), '"repository_id" is required'),
    "a string for a bool": (BUCKET, _set(uniform_bucket_level_access="sometimes"), "a bool is required"),
    "a list for a string": (ACCOUNT, _set(account_id=["x"]), "string required"),
    "a string for a number": (BUCKET, _inside("lifecycle_rule.0.condition.0", _set(age="soon")), "number is required"),
    "an unknown block": (BUCKET, _rename("versioning", "versionning"), "versionning"),
    "a misspelling in a block": (
        "google_cloudbuild_trigger",
        _inside("github.push", _rename("branch", "branches")),
        "branches",
    ),
    "a missing attribute in a block": (
        BUCKET,
        _inside("lifecycle_rule.0.action.0", _without("type")),
        '"type" is required',
    ),
    "a missing block": (BUCKET, _inside("lifecycle_rule.0", _without("condition")), "Insufficient condition blocks"),
    "too many blocks": (JOB, lambda job: job.update(http_target=[job["http_target"]] * 2), "No more than 1"),
    "a text for a block": (JOB, _set(http_target="https://example.com"), "Incorrect JSON value type"),
    "a computed attribute": (ACCOUNT, _set(email="a@b"), "decided automatically"),
    "an unknown attribute of a reference": (
        "google_project_iam_member",
        _set(member="serviceAccount:${google_service_account.build_account.mail}"),
        '"mail"',
    ),
    "an undeclared resource": (
        "google_project_iam_member",
        _set(member="serviceAccount:${google_service_account.nobody.email}"),
        "has not been declared",
    ),
    "an undocumented value": (REPOSITORY, _set(mode="STANDARD"), "to be one of"),
    "an undocumented value in a block": (
        REPOSITORY,
        _inside("cleanup_policies.1.condition.0", _set(tag_state="OLD")),
        "to be one of",
    ),
    "a name that the API refuses": (ACCOUNT, _set(account_id="vx"), "doesn't match regexp"),
    "none of alternatives": (JOB, _without("http_target"), "exactly one of"),
    "a label that the API refuses": (BUCKET, _set(labels={"Owner": "Vision Team"}), "Invalid label"),
    "a pool without machines": (POOL, _inside("resource_pools.0", _without("replica_count")), "must be specified"),
    "a pool of no replicas": (POOL, _inside("resource_pools.0", _set(replica_count="0")), "doesn't match regexp"),
    "a bucket's name with capitals": (BUCKET, _set(name="Shards"), "doesn't match regexp"),
    "two kinds of token": (
        JOB,
        _inside("http_target", _set(oidc_token={"service_account_email": "a@b"})),
        "cannot be used together",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_validate_refuses(case: str, running: Workspace, configuration: dict[str, Any]) -> None:
    resource_type, change, expected = REFUSED[case]
    mutated = copy.deepcopy(configuration)
    change(next(iter(mutated["resource"][resource_type].values())))
    running.write(mutated)
    assert expected in running.problems()


def test_validate_refuses_an_unknown_resource_type(running: Workspace, configuration: dict[str, Any]) -> None:
    unknown = {"google_vertex_ai_persistent_resorce": {"pool": {"name": "pool"}}}
    running.write({**configuration, "resource": {**configuration["resource"], **unknown}})
    assert "google_vertex_ai_persistent_resorce" in running.problems()


def test_validate_refuses_a_circle(running: Workspace, configuration: dict[str, Any]) -> None:
    mutated = copy.deepcopy(configuration)
    accounts = mutated["resource"]["google_service_account"]
    accounts["build_account"]["display_name"] = "${google_service_account.pipeline_account.email}"
    accounts["pipeline_account"]["display_name"] = "${google_service_account.build_account.email}"
    running.write(mutated)
    assert "Cycle" in running.problems()


def test_validate_accepts_the_unchanged_stack(running: Workspace, configuration: dict[str, Any]) -> None:
    running.write(configuration)
    assert running.problems() == ""
