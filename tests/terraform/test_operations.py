"""Objects of the emulated project: what is made, found, kept and refused, without Terraform."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from terraform import launch
from terraform.emulator.operations import Kind, Refused

PROJECT, NUMBER = "acme-vision", "481516234207"
ACCOUNT = f"small-build@{PROJECT}.iam.gserviceaccount.com"
KEY = f"projects/{PROJECT}/locations/us-central1/keyRings/ring/cryptoKeys/storage"
POOL = {
    "name": "night-v1",
    "location": "us-central1",
    "resource_pools": [{"replica_count": "1", "machine_spec": [{"machine_type": "n1-standard-8"}]}],
}

Make = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("google_project_service", {"service": "run.googleapis.com"}, f"{PROJECT}/run.googleapis.com"),
        ("google_storage_bucket", {"name": "shards", "location": "US"}, "shards"),
        (
            "google_project_iam_member",
            {"project": PROJECT, "role": "roles/x", "member": "user:a@b"},
            f"{PROJECT}/roles/x/user:a@b",
        ),
        (
            "google_pubsub_topic_iam_member",
            {"topic": f"projects/{PROJECT}/topics/t", "role": "roles/x", "member": "user:a@b"},
            f"projects/{PROJECT}/topics/t/roles/x/user:a@b",
        ),
        ("google_kms_crypto_key", {"name": "storage", "key_ring": KEY.partition("/cryptoKeys")[0]}, KEY),
        (
            "google_cloudbuildv2_repository",
            {
                "name": "vision",
                "parent_connection": "github",
                "location": "europe-west4",
                "remote_uri": "https://x.git",
            },
            f"projects/{PROJECT}/locations/europe-west4/connections/github/repositories/vision",
        ),
        ("google_logging_metric", {"name": "failed", "filter": "x"}, "failed"),
    ],
)
def test_an_object_has_the_provider_s_id(name: str, values: dict[str, Any], expected: str, make: Make) -> None:
    assert make(name, **values)["id"] == expected


def test_what_the_api_answers_hangs_together(make: Make) -> None:
    account = make("google_service_account", account_id="small-build")
    assert account["email"] == ACCOUNT
    assert account["member"] == f"serviceAccount:{ACCOUNT}"
    assert account["name"] == account["id"] == f"projects/{PROJECT}/serviceAccounts/{ACCOUNT}"
    tensorboard = make("google_vertex_ai_tensorboard", display_name="runs", region="us-central1")
    assert tensorboard["id"] == tensorboard["name"]
    assert tensorboard["name"].startswith(f"projects/{NUMBER}/locations/us-central1/tensorboards/")
    pool = make("google_vertex_ai_persistent_resource", **POOL)
    assert (pool["state"], pool["resource_pools"][0]["used_replica_count"]) == ("RUNNING", "0")


@pytest.mark.parametrize(
    ("service", "expected"),
    [("aiplatform", "gcp-sa-aiplatform"), ("cloudbuild", "gcp-sa-cloudbuild"), ("workflows", "gcp-sa-workflows")],
)
def test_an_identity_is_its_service_s_agent(service: str, expected: str, make: Make) -> None:
    identity = make("google_project_service_identity", service=f"{service}.googleapis.com")
    assert identity["member"] == f"serviceAccount:service-{NUMBER}@{expected}.iam.gserviceaccount.com"


def test_what_is_there_already_is_not_made_again(make: Make) -> None:
    make("google_pubsub_topic", name="runs")
    with pytest.raises(Refused, match="409"):
        make("google_pubsub_topic", name="runs")
    member = {"project": PROJECT, "role": "roles/x", "member": "user:a@b"}
    assert make("google_project_iam_member", **member) == make("google_project_iam_member", **member)


def test_a_value_unknown_at_plan_is_checked_at_apply(make: Make) -> None:
    with pytest.raises(Refused, match="regexp"):
        make("google_pubsub_topic", name="goog-runs")


@pytest.mark.parametrize("given", ["projects/acme-vision/topics/runs", "acme-vision/runs", "runs"])
def test_a_topic_is_found_by_each_of_its_documented_names(given: str, make: Make, kind: Callable[[str], Kind]) -> None:
    topic = make("google_pubsub_topic", name="runs")
    assert kind("google_pubsub_topic").find(given) == topic


@pytest.mark.parametrize("condition", [[], [{"title": "until", "expression": "true"}]])
def test_a_grant_is_found_by_its_parts_only(
    condition: list[dict[str, str]], make: Make, kind: Callable[[str], Kind]
) -> None:
    values = {"bucket": "shards", "role": "roles/x", "member": "user:a@b", "condition": condition}
    grant = make("google_storage_bucket_iam_member", **values)
    ending = " until" if condition else ""
    assert kind("google_storage_bucket_iam_member").find(f"b/shards roles/x user:a@b{ending}") == grant
    with pytest.raises(Refused, match="non-existent"):
        kind("google_storage_bucket_iam_member").find(grant["id"])


@pytest.mark.parametrize(
    ("values", "message"),
    [({"deletion_policy": "PREVENT"}, "protected"), ({}, "not empty: google_storage_bucket_object")],
)
def test_a_bucket_stands_against_its_deletion(
    values: dict[str, str], message: str, make: Make, kind: Callable[[str], Kind]
) -> None:
    bucket = make("google_storage_bucket", name="shards", location="US", **values)
    make("google_storage_bucket_object", name="a", bucket="shards", content="x")
    with pytest.raises(Refused, match=message):
        kind("google_storage_bucket").delete(bucket)


def test_a_bucket_goes_with_its_content_if_forced(make: Make, kind: Callable[[str], Kind]) -> None:
    bucket = make("google_storage_bucket", name="shards", location="US", force_destroy=True)
    make("google_storage_bucket_object", name="a", bucket="shards", content="x")
    kind("google_storage_bucket").delete(bucket)
    assert kind("google_storage_bucket").read(bucket) is None


@pytest.mark.parametrize(("switched", "stays"), [({}, True), ({"disable_on_destroy": True}, False)])
def test_a_service_stays_enabled_unless_told_otherwise(
    switched: dict[str, bool], stays: bool, make: Make, kind: Callable[[str], Kind]
) -> None:
    service = make("google_project_service", service="run.googleapis.com", **switched)
    kind("google_project_service").delete(service)
    assert (kind("google_project_service").read(service) is not None) is stays


@pytest.mark.parametrize(
    ("entry", "times"),
    [
        ("google_pubsub_topic:create:Error 503: later", 2),
        ("once:google_pubsub_topic:create:Error 503: later", 1),
        ("google_pubsub_topic~runs:create:Error 503: later", 2),
        ("google_pubsub_topic~others:create:Error 503: later", 0),
        ("google_pubsub_topic:delete:Error 503: later", 0),
        ("google_storage_bucket:create:Error 503: later", 0),
    ],
)
def test_a_failure_is_injected_where_and_as_often_as_asked(entry: str, times: int, make: Make, cloud: Path) -> None:
    launch.switch(cloud, fail=[entry])
    for _ in range(times):
        with pytest.raises(Refused, match="Error 503: later"):
            make("google_pubsub_topic", name="runs")
    if times < 2:
        make("google_pubsub_topic", name="runs")
