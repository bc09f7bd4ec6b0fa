"""What a plan of the example creates, as files that a reviewer reads: inventory/*.yaml.

A stack that changed on purpose: `OVERNIGHT_ACCEPT=1 make infra-test`, then read the difference in Git.
"""

import difflib
import os
from collections import Counter
from pathlib import Path

import pytest

from terraform_house import STACKS, Project
from terraform_inventory import Plans, text

pytestmark = pytest.mark.area("plan inventory")

INVENTORY = Path(__file__).with_name("inventory")


@pytest.mark.parametrize("stack", STACKS)
def test_a_plan_creates_what_was_reviewed(plans: Plans, stack: str) -> None:
    file, planned = INVENTORY / f"{stack}.yaml", text(plans[stack])
    if os.environ.get("OVERNIGHT_ACCEPT") == "1":
        file.write_text(planned)
    reviewed = file.read_text() if file.exists() else ""
    difference = difflib.unified_diff(
        reviewed.splitlines(), planned.splitlines(), f"reviewed {file.name}", "planned now", lineterm=""
    )
    assert reviewed == planned, (
        "the plan is not the one that was reviewed; is it meant? OVERNIGHT_ACCEPT=1 make infra-test\n"
        + "\n".join(difference)
    )


def test_every_reviewed_file_is_a_stack() -> None:
    assert {file.stem for file in INVENTORY.glob("*.yaml")} == set(STACKS)


def test_the_four_stacks_hold_at_least_sixty_resources(plans: Plans) -> None:
    assert sum(len(plan["resources"]) for plan in plans.values()) >= 60


# What was asked for: the item, the stack it belongs to, the resource that it is, and how many at least.
ASKED_FOR = (
    ("APIs", "foundation", "google_project_service", 10),
    ("one service account a role", "foundation", "google_service_account", 5),
    ("roles at the project", "foundation", "google_project_iam_member", 5),
    ("who may act as whom", "foundation", "google_service_account_iam_member", 3),
    ("service agents", "foundation", "google_project_service_identity", 3),
    ("a key ring", "foundation", "google_kms_key_ring", 1),
    ("a key for buckets, datasets, registries, training", "foundation", "google_kms_crypto_key", 4),
    ("agents that use the keys", "foundation", "google_kms_crypto_key_iam_member", 4),
    ("audit logs", "foundation", "google_project_iam_audit_config", 3),
    ("images, cache, pipelines, Python", "artifacts", "google_artifact_registry_repository", 4),
    ("data, shards, staging, models, logs", "artifacts", "google_storage_bucket", 5),
    ("roles at buckets", "artifacts", "google_storage_bucket_iam_member", 5),
    ("labels and snapshots", "artifacts", "google_bigquery_dataset", 2),
    ("roles at datasets", "artifacts", "google_bigquery_dataset_iam_member", 2),
    ("the link to the repository", "delivery", "google_cloudbuildv2_connection", 1),
    ("the repository", "delivery", "google_cloudbuildv2_repository", 1),
    ("check, release, pipelines, plan, apply", "delivery", "google_cloudbuild_trigger", 4),
    ("a private worker pool", "delivery", "google_cloudbuild_worker_pool", 1),
    ("notifications of builds", "delivery", "google_pubsub_topic", 1),
    ("a persistent resource", "training", "google_vertex_ai_persistent_resource", 1),
    ("the weekly and the monthly schedule", "training", "google_colab_schedule", 2),
    ("TensorBoard", "training", "google_vertex_ai_tensorboard", 1),
    ("log metrics", "training", "google_logging_metric", 4),
    ("alerts", "training", "google_monitoring_alert_policy", 5),
    ("who is told", "training", "google_monitoring_notification_channel", 1),
    ("a dashboard", "training", "google_monitoring_dashboard", 1),
    ("a budget", "training", "google_billing_budget", 1),
)


@pytest.mark.parametrize(("item", "stack", "kind", "least"), ASKED_FOR, ids=[row[0] for row in ASKED_FOR])
def test_what_was_asked_for_is_planned(plans: Plans, item: str, stack: str, kind: str, least: int) -> None:
    kinds = Counter(address.split(".")[0] for address in plans[stack]["resources"])
    assert kinds[kind] >= least, item


def test_a_plan_that_differs_from_the_reviewed_one_is_told(empty: Project, plans: Plans) -> None:
    changed = {**plans["artifacts"], "outputs": {**plans["artifacts"]["outputs"], "one_more": 1}}
    assert text(changed) != text(plans["artifacts"])
