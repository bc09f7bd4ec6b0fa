"""The stack `artifacts`, as its Terraform JSON reads: what is kept, for how long, and who may touch it."""

from collections.abc import Callable
from typing import Any

import pytest

from granted import grants

StacksOf = Callable[[str], dict[str, dict[str, Any]]]

STATEFUL = (
    "google_storage_bucket",
    "google_bigquery_dataset",
    "google_artifact_registry_repository",
    "google_kms_key_ring",
    "google_kms_crypto_key",
)
DAY = 86_400


def buckets(stack: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By purpose."""
    return {name.removesuffix("_bucket"): each for name, each in stack["resource"]["google_storage_bucket"].items()}


def rules(bucket: dict[str, Any]) -> set[tuple[str, str, int]]:
    """Each lifecycle rule as action, the condition that counts days, and days."""
    days = ("age", "days_since_noncurrent_time")
    return {
        (rule["action"]["type"], name, rule["condition"][name])
        for rule in bucket["lifecycle_rule"]
        for name in days
        if name in rule["condition"]
    }


@pytest.fixture
def artifacts(stacks_of: StacksOf) -> dict[str, Any]:
    return stacks_of("example")["artifacts"]


def test_buckets_are_regional_and_closed_to_the_public(artifacts: dict[str, Any]) -> None:
    found = buckets(artifacts)
    assert set(found) == {"data", "shards", "staging", "models", "logs"}
    for purpose, bucket in found.items():
        assert bucket["name"] == f"acme-vision-prod-example-{purpose}"
        assert bucket["location"] == "us-central1"
        assert bucket["public_access_prevention"] == "enforced"
        assert bucket["uniform_bucket_level_access"] is True
        assert bucket["force_destroy"] is False


def test_a_bucket_may_have_a_name_of_its_own(stacks_of: StacksOf) -> None:
    stack = stacks_of("own-names")["artifacts"]
    assert buckets(stack)["models"]["name"] == "acme-models"
    grant = stack["resource"]["google_storage_bucket_iam_member"]["build_adds_to_releases"]
    assert grant["condition"]["expression"] == (
        'resource.name.startsWith("projects/_/buckets/acme-models/objects/releases/")'
    )


@pytest.mark.parametrize(
    ("purpose", "versions", "soft_deleted_days"),
    [("data", True, 30), ("shards", True, 30), ("models", True, 30), ("staging", False, 0), ("logs", False, 30)],
)
def test_what_loss_would_hurt_can_be_brought_back(
    artifacts: dict[str, Any], purpose: str, versions: bool, soft_deleted_days: int
) -> None:
    bucket = buckets(artifacts)[purpose]
    assert bucket["versioning"] == {"enabled": versions}
    assert bucket["soft_delete_policy"] == {"retention_duration_seconds": soft_deleted_days * DAY}


@pytest.mark.parametrize(
    ("purpose", "expected"),
    [
        ("data", {("SetStorageClass", "age", 90), ("Delete", "days_since_noncurrent_time", 30)}),
        ("shards", {("Delete", "days_since_noncurrent_time", 30)}),
        ("models", {("Delete", "days_since_noncurrent_time", 30)}),
        ("staging", {("Delete", "age", 30)}),
        ("logs", {("Delete", "age", 400)}),
    ],
)
def test_what_goes_when(artifacts: dict[str, Any], purpose: str, expected: set[tuple[str, str, int]]) -> None:
    found = rules(buckets(artifacts)[purpose])
    assert found == expected | {("AbortIncompleteMultipartUpload", "age", 7)}


@pytest.mark.parametrize("purpose", ["data", "shards", "models"])
def test_no_rule_deletes_a_live_object_that_is_worth_keeping(artifacts: dict[str, Any], purpose: str) -> None:
    for rule in buckets(artifacts)[purpose]["lifecycle_rule"]:
        if rule["action"]["type"] == "Delete":
            assert set(rule["condition"]) == {"days_since_noncurrent_time"}


def test_access_is_logged_where_someone_will_ask(artifacts: dict[str, Any]) -> None:
    logged = {purpose: bucket["logging"] for purpose, bucket in buckets(artifacts).items() if "logging" in bucket}
    target = "${google_storage_bucket.logs_bucket.name}"
    assert logged == {
        purpose: {"log_bucket": target, "log_object_prefix": purpose} for purpose in ("data", "shards", "models")
    }


def test_released_tags_cannot_move_and_cache_tags_can(artifacts: dict[str, Any]) -> None:
    repositories = artifacts["resource"]["google_artifact_registry_repository"]
    tags = {name: each.get("docker_config") for name, each in repositories.items()}
    assert tags == {
        "images_repository": {"immutable_tags": True},
        "cache_repository": {"immutable_tags": False},
        "pipelines_repository": None,
        "python_repository": None,
    }
    assert {name: each["format"] for name, each in repositories.items()} == {
        "images_repository": "DOCKER",
        "cache_repository": "DOCKER",
        "pipelines_repository": "KFP",
        "python_repository": "PYTHON",
    }


def test_no_image_with_a_tag_is_ever_cleaned_away(artifacts: dict[str, Any]) -> None:
    images = artifacts["resource"]["google_artifact_registry_repository"]["images_repository"]
    assert images["cleanup_policy_dry_run"] is False
    assert images["cleanup_policies"] == [
        {"id": "newest-stay", "action": "KEEP", "most_recent_versions": {"keep_count": 30}},
        {
            "id": "untagged-go",
            "action": "DELETE",
            "condition": {"tag_state": "UNTAGGED", "older_than": f"{180 * DAY}s"},
        },
    ]


def test_only_what_runs_is_scanned(artifacts: dict[str, Any]) -> None:
    repositories = artifacts["resource"]["google_artifact_registry_repository"]
    scanning = {name: each.get("vulnerability_scanning_config") for name, each in repositories.items()}
    assert scanning["images_repository"] == {"enablement_config": "INHERITED"}
    assert scanning["cache_repository"] == {"enablement_config": "DISABLED"}
    assert "containerscanning.googleapis.com" in artifacts["output"]["policy"]["value"]["required_apis"]


def test_the_cache_empties_itself(artifacts: dict[str, Any]) -> None:
    cache = artifacts["resource"]["google_artifact_registry_repository"]["cache_repository"]
    assert [each["condition"] for each in cache["cleanup_policies"]] == [
        {"tag_state": "ANY", "older_than": f"{14 * DAY}s"}
    ]
    assert cache["cleanup_policy_dry_run"] is False


def test_labels_stay_and_snapshots_expire(artifacts: dict[str, Any]) -> None:
    datasets = artifacts["resource"]["google_bigquery_dataset"]
    assert {name: each.get("default_table_expiration_ms") for name, each in datasets.items()} == {
        "labels_dataset": None,
        "snapshots_dataset": 400 * DAY * 1000,
    }
    for dataset in datasets.values():
        assert dataset["location"] == "us-central1"
        assert dataset["max_time_travel_hours"] == "168"
        assert dataset["delete_contents_on_destroy"] is False


def test_training_can_add_a_model_but_not_touch_one(artifacts: dict[str, Any]) -> None:
    roles = {
        each.role for each in grants({"artifacts": artifacts}) if (each.who, each.on) == ("training", "bucket models")
    }
    assert roles == {"roles/storage.objectViewer", "roles/storage.objectCreator"}


def test_a_pull_requests_code_can_leave_nothing_behind(artifacts: dict[str, Any]) -> None:
    roles = {each.role for each in grants({"artifacts": artifacts}) if each.who == "check"}
    assert roles == {"roles/artifactregistry.reader"}


def test_agents_and_not_job_accounts_pull_images(artifacts: dict[str, Any]) -> None:
    pulls = {each.who for each in grants({"artifacts": artifacts}) if each.on == "repository images"}
    assert {"agent aiplatform", "agent aiplatform-cc"} <= pulls
    assert "training" not in pulls


def test_our_keys_encrypt_everything_that_is_kept(artifacts: dict[str, Any]) -> None:
    ring = "projects/acme-vision-prod/locations/us-central1/keyRings/example-overnight/cryptoKeys"
    resources = artifacts["resource"]
    for bucket in resources["google_storage_bucket"].values():
        assert bucket["encryption"] == {"default_kms_key_name": f"{ring}/storage"}
    for dataset in resources["google_bigquery_dataset"].values():
        assert dataset["default_encryption_configuration"] == {"kms_key_name": f"{ring}/bigquery"}
    for repository in resources["google_artifact_registry_repository"].values():
        assert repository["kms_key_name"] == f"{ring}/registry"


@pytest.mark.parametrize(("configuration", "kept"), [("example", True), ("unprotected", False)])
def test_what_cannot_be_made_again_is_kept_while_the_configuration_says_so(
    stacks_of: StacksOf, configuration: str, kept: bool
) -> None:
    stacks = stacks_of(configuration)
    stateful = [
        each
        for stack in ("foundation", "artifacts")
        for kind in STATEFUL
        for each in stacks[stack]["resource"].get(kind, {}).values()
    ]
    assert len(stateful) == 5 + 2 + 4 + 1 + 4
    assert {each["lifecycle"]["prevent_destroy"] for each in stateful} == {kept}


def test_everything_that_takes_labels_carries_them(stacks_of: StacksOf) -> None:
    for name in ("foundation", "artifacts"):
        stack = stacks_of("example")[name]
        required = set(stack["output"]["policy"]["value"]["required_labels"])
        for kind in set(STATEFUL) - {"google_kms_key_ring"}:
            for each in stack["resource"].get(kind, {}).values():
                assert set(each["labels"]) == required


def test_the_control_plane_is_told_where_everything_is(artifacts: dict[str, Any]) -> None:
    output = artifacts["output"]
    assert output["buckets"]["value"]["shards"] == "${google_storage_bucket.shards_bucket.url}"
    assert output["datasets"]["value"]["labels"] == "${google_bigquery_dataset.labels_dataset.dataset_id}"
    assert output["repositories"]["value"] == {
        "images": "us-central1-docker.pkg.dev/acme-vision-prod/example-images",
        "cache": "us-central1-docker.pkg.dev/acme-vision-prod/example-cache",
        "pipelines": "us-central1-kfp.pkg.dev/acme-vision-prod/example-pipelines",
        "python": "us-central1-python.pkg.dev/acme-vision-prod/example-python",
    }
    assert output["templates"]["value"] == "https://us-central1-kfp.pkg.dev/acme-vision-prod/example-pipelines"
