"""Strict mode: what must be there before what."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from terraform import launch
from terraform.emulator.operations import Refused

Make = Callable[..., dict[str, Any]]

PROJECT, NUMBER = "acme-vision", "481516234207"
KEY = f"projects/{PROJECT}/locations/us-central1/keyRings/ring/cryptoKeys/storage"
ACCOUNT = f"small-build@{PROJECT}.iam.gserviceaccount.com"
TEMPLATE = f"https://us-central1-kfp.pkg.dev/{PROJECT}/pipelines/weekly/sha256:0"
SCHEDULE = {
    "display_name": "weekly",
    "location": "us-central1",
    "cron": "TZ=Europe/Paris 0 20 * * 5",
    "max_concurrent_run_count": "1",
    "create_pipeline_job_request": [{"pipeline_job": [{"template_uri": TEMPLATE, "service_account": ACCOUNT}]}],
}
TRIGGER = {
    "name": "merge",
    "location": "us-central1",
    "filename": "cloudbuild.yaml",
    "service_account": f"projects/{PROJECT}/serviceAccounts/{ACCOUNT}",
    "repository_event_config": [
        {
            "repository": f"projects/{PROJECT}/locations/us-central1/connections/github/repositories/vision",
            "push": [{"branch": "^main$"}],
        }
    ],
}
CONNECTION = {
    "name": "github",
    "location": "us-central1",
    "github_config": [
        {
            "app_installation_id": 1,
            "authorizer_credential": [
                {"oauth_token_secret_version": f"projects/{PROJECT}/secrets/github-token/versions/1"}
            ],
        }
    ],
}
ALERT = {
    "display_name": "failed",
    "combiner": "OR",
    "conditions": [
        {
            "display_name": "failed",
            "condition_threshold": [
                {"filter": 'metric.type = "logging.googleapis.com/user/failed"', "duration": "0s", "comparison": "X"}
            ],
        }
    ],
}

Needs = tuple[str, dict[str, Any]]
APIS = (
    "storage",
    "iam",
    "cloudkms",
    "bigquery",
    "artifactregistry",
    "cloudbuild",
    "pubsub",
    "secretmanager",
    "cloudscheduler",
    "aiplatform",
    "monitoring",
    "cloudresourcemanager",
    "serviceusage",
)
BUCKET: Needs = ("google_storage_bucket", {"name": "shards", "location": "US"})
BUILD_ACCOUNT: Needs = ("google_service_account", {"account_id": "small-build"})
RING: Needs = ("google_kms_key_ring", {"name": "ring", "location": "us-central1"})
CRYPTO_KEY: Needs = ("google_kms_crypto_key", {"name": "storage", "key_ring": KEY.partition("/cryptoKeys")[0]})
VERTEX_AGENT = f"serviceAccount:service-{NUMBER}@gcp-sa-aiplatform.iam.gserviceaccount.com"
CODE_AGENT = f"serviceAccount:service-{NUMBER}@gcp-sa-aiplatform-cc.iam.gserviceaccount.com"
STORAGE_AGENT = f"serviceAccount:service-{NUMBER}@gs-project-accounts.iam.gserviceaccount.com"
IDENTITY: Needs = ("google_project_service_identity", {"service": "aiplatform.googleapis.com"})


def grant(kind: str, on: str, name: str, member: str) -> Needs:
    return f"google_{kind}_iam_member", {on: name, "role": "roles/x", "member": member}


STRICT: dict[str, tuple[list[Needs], Needs, str]] = {
    "a grant to an account": (
        [BUCKET, BUILD_ACCOUNT],
        grant("storage_bucket", "bucket", "shards", f"serviceAccount:{ACCOUNT}"),
        "Service account small-build@",
    ),
    "a grant on a bucket": ([BUCKET], grant("storage_bucket", "bucket", "shards", "user:a@b"), "google_storage_bucket"),
    "a grant on a dataset": (
        [("google_bigquery_dataset", {"dataset_id": "labels"})],
        grant("bigquery_dataset", "dataset_id", "labels", "user:a@b"),
        "google_bigquery_dataset",
    ),
    "a grant on a topic": (
        [("google_pubsub_topic", {"name": "runs"})],
        grant("pubsub_topic", "topic", "runs", "user:a@b"),
        "google_pubsub_topic",
    ),
    "a grant on an account": (
        [BUILD_ACCOUNT],
        grant("service_account", "service_account_id", f"projects/{PROJECT}/serviceAccounts/{ACCOUNT}", "user:a@b"),
        "google_service_account",
    ),
    "a grant to an agent": ([IDENTITY], grant("project", "project", PROJECT, VERTEX_AGENT), "gcp-sa-aiplatform"),
    "a grant to the second agent of a service": (
        [IDENTITY],
        grant("project", "project", PROJECT, CODE_AGENT),
        "gcp-sa-aiplatform-cc",
    ),
    "a grant of our own role": (
        [("google_project_iam_custom_role", {"role_id": "planner", "title": "t", "permissions": ["a.b.c"]})],
        (
            "google_project_iam_member",
            {"project": PROJECT, "role": f"projects/{PROJECT}/roles/planner", "member": "user:a@b"},
        ),
        "Role projects/acme-vision/roles/planner does not exist",
    ),
    "an encrypted bucket": (
        [RING, CRYPTO_KEY, grant("kms_crypto_key", "crypto_key_id", KEY, STORAGE_AGENT)],
        ("google_storage_bucket", {**BUCKET[1], "encryption": [{"default_kms_key_name": KEY}]}),
        "grant serviceAccount:service-",
    ),
    "a schedule": (
        [
            BUILD_ACCOUNT,
            (
                "google_artifact_registry_repository",
                {"repository_id": "pipelines", "format": "KFP", "location": "us-central1"},
            ),
        ],
        ("google_colab_schedule", SCHEDULE),
        "repositories/pipelines does not exist",
    ),
    "a connection": (
        [
            ("google_project_service_identity", {"service": "cloudbuild.googleapis.com"}),
            grant(
                "secret_manager_secret",
                "secret_id",
                "github-token",
                f"serviceAccount:service-{NUMBER}@gcp-sa-cloudbuild.iam.gserviceaccount.com",
            ),
        ],
        ("google_cloudbuildv2_connection", CONNECTION),
        "grant serviceAccount:service-",
    ),
    "a trigger": (
        [
            BUILD_ACCOUNT,
            ("google_project_service_identity", {"service": "cloudbuild.googleapis.com"}),
            grant(
                "secret_manager_secret",
                "secret_id",
                f"projects/{PROJECT}/secrets/github-token",
                f"serviceAccount:service-{NUMBER}@gcp-sa-cloudbuild.iam.gserviceaccount.com",
            ),
            ("google_cloudbuildv2_connection", CONNECTION),
            (
                "google_cloudbuildv2_repository",
                {
                    "name": "vision",
                    "parent_connection": f"projects/{PROJECT}/locations/us-central1/connections/github",
                    "location": "us-central1",
                    "remote_uri": "https://github.com/acme/vision.git",
                },
            ),
        ],
        ("google_cloudbuild_trigger", TRIGGER),
        "repositories/vision does not exist",
    ),
    "an alert on a metric of our own": (
        [("google_logging_metric", {"name": "failed", "filter": "x"})],
        ("google_monitoring_alert_policy", ALERT),
        "google_logging_metric failed does not exist",
    ),
}


@pytest.fixture
def strict(cloud: Path) -> None:
    launch.switch(
        cloud,
        strict=True,
        enable_seconds=0.0,
        create_seconds=0.0,
        made_by_hand={"google_secret_manager_secret": [f"projects/{PROJECT}/secrets/github-token"]},
    )
    with launch.edit(cloud) as contents:
        contents["google_project_service"] = {
            name: {"id": name, "service": f"{name}.googleapis.com"} for name in (*APIS, "logging")
        }


@pytest.mark.parametrize("case", STRICT)
@pytest.mark.usefixtures("strict")
def test_strict_mode_wants_what_is_needed_first(case: str, make: Make) -> None:
    needs, (name, values), _ = STRICT[case]
    for needed, each in needs:
        make(needed, **each)
    assert make(name, **values)["id"]


@pytest.mark.parametrize("case", STRICT)
@pytest.mark.usefixtures("strict")
def test_strict_mode_refuses_what_lacks_the_last_of_its_needs(case: str, make: Make) -> None:
    needs, (name, values), message = STRICT[case]
    for needed, each in needs[:-1]:
        make(needed, **each)
    with pytest.raises(Refused, match=message):
        make(name, **values)


@pytest.mark.usefixtures("strict")
def test_another_project_s_number_is_another_project_s_agent(make: Make) -> None:
    make(IDENTITY[0], **IDENTITY[1])
    with pytest.raises(Refused, match="does not exist"):
        make(
            "google_project_iam_member",
            project=PROJECT,
            role="roles/x",
            member=VERTEX_AGENT.replace(NUMBER, "999999999999"),
        )


@pytest.mark.usefixtures("strict")
def test_a_grant_on_a_ring_holds_for_its_keys(make: Make) -> None:
    make(RING[0], **RING[1])
    make(CRYPTO_KEY[0], **CRYPTO_KEY[1])
    ring = CRYPTO_KEY[1]["key_ring"]
    make("google_kms_key_ring_iam_member", key_ring_id=ring, role="roles/x", member=STORAGE_AGENT)
    made = make("google_storage_bucket", name="shards", location="US", encryption=[{"default_kms_key_name": KEY}])
    assert made["encryption"][0]["default_kms_key_name"] == KEY


@pytest.mark.usefixtures("strict")
def test_what_was_made_by_hand_is_there(make: Make) -> None:
    make("google_secret_manager_secret_iam_member", secret_id="github-token", role="roles/x", member="user:a@b")
    with pytest.raises(Refused, match="google_secret_manager_secret"):
        make("google_secret_manager_secret_iam_member", secret_id="other", role="roles/x", member="user:a@b")
