"""Changes made behind Terraform's back: the next plan names each one, and only it; the next apply undoes it."""

from dataclasses import dataclass
from typing import Any

import pytest

from terraform_house import STACKS, Project

pytestmark = pytest.mark.area("drift")

GONE = object()
"""The object was deleted."""


@dataclass(frozen=True)
class Drift:
    """What somebody did in the console: to which resource, at which path of the object, what it is now."""

    what: str
    stack: str
    address: str
    path: str
    value: Any
    action: str = "update"
    swept: tuple[str, ...] = ()
    """What Google deletes with it."""


POOL = "google_vertex_ai_persistent_resource.night_a100_v1_pool"
BUCKET, MEMBER = "google_storage_bucket", "google_storage_bucket_iam_member"
DRIFTS = (
    Drift("an API disabled", "foundation", "google_project_service.pubsub_api", "", GONE, "create"),
    Drift(
        "a key rotated less often", "foundation", "google_kms_crypto_key.storage_key", "rotation_period", "31536000s"
    ),
    Drift("an account disabled", "foundation", "google_service_account.training_account", "disabled", True),
    Drift("a role taken away", "foundation", "google_project_iam_member.pipeline_runs_jobs", "", GONE, "create"),
    Drift(
        "reads no longer logged",
        "foundation",
        "google_project_iam_audit_config.iam_audit_logs",
        "audit_log_config",
        [{"exempted_members": [], "log_type": "DATA_WRITE"}],
    ),
    Drift("versioning off", "artifacts", f"{BUCKET}.shards_bucket", "versioning.0.enabled", False),
    Drift("public access possible", "artifacts", f"{BUCKET}.data_bucket", "public_access_prevention", "inherited"),
    Drift("access by object", "artifacts", f"{BUCKET}.models_bucket", "uniform_bucket_level_access", False),
    Drift("checkpoints kept longer", "artifacts", f"{BUCKET}.staging_bucket", "lifecycle_rule.0.condition.0.age", 90),
    Drift("a label changed", "artifacts", f"{BUCKET}.logs_bucket", "labels.cost_center", "ml-001"),
    Drift("a bucket's member removed", "artifacts", f"{MEMBER}.training_adds_to_models", "", GONE, "create"),
    Drift(
        "snapshots kept shorter",
        "artifacts",
        "google_bigquery_dataset.snapshots_dataset",
        "default_table_expiration_ms",
        86_400_000,
    ),
    Drift(
        "tags that can move",
        "artifacts",
        "google_artifact_registry_repository.images_repository",
        "docker_config.0.immutable_tags",
        False,
    ),
    Drift(
        "a registry deleted",
        "artifacts",
        "google_artifact_registry_repository.python_repository",
        "",
        GONE,
        "create",
        (
            "google_artifact_registry_repository_iam_member.build_pushes_python",
            "google_artifact_registry_repository_iam_member.plan_pulls_python",
        ),
    ),
    Drift(
        "applying without approval",
        "delivery",
        "google_cloudbuild_trigger.infra_apply_trigger",
        "approval_config.0.approval_required",
        False,
    ),
    Drift(
        "anybody's pull request built",
        "delivery",
        "google_cloudbuild_trigger.pull_request_trigger",
        "repository_event_config.0.pull_request.0.comment_control",
        "COMMENTS_DISABLED",
    ),
    Drift(
        "another machine for builds",
        "delivery",
        "google_cloudbuild_worker_pool.builds_worker_pool",
        "worker_config.0.machine_type",
        "e2-standard-32",
    ),
    Drift(
        "the subscription deleted",
        "delivery",
        "google_pubsub_subscription.builds_subscription",
        "",
        GONE,
        "create",
        ("google_pubsub_subscription_iam_member.pipeline_reads_builds",),
    ),
    Drift("the schedule paused", "training", "google_colab_schedule.weekly_schedule", "desired_state", "PAUSED"),
    Drift(
        "another hour", "training", "google_colab_schedule.weekly_schedule", "cron", "CRON_TZ=Europe/Paris 0 8 * * 1"
    ),
    Drift("an alert switched off", "training", "google_monitoring_alert_policy.job_failed_alert", "enabled", False),
    Drift(
        "a higher budget",
        "training",
        "google_billing_budget.project_budget",
        "amount.0.specified_amount.0.units",
        "90000",
    ),
    Drift("a metric deleted", "training", "google_logging_metric.job_failed_metric", "", GONE, "create"),
)


def happen(project: Project, drift: Drift) -> None:
    if drift.value is GONE:
        for address in (*drift.swept, drift.address):
            project.remove(drift.stack, address)
    else:
        project.change(drift.stack, drift.address, drift.path, drift.value)


@pytest.mark.parametrize("drift", DRIFTS, ids=[drift.what for drift in DRIFTS])
def test_a_plan_names_exactly_what_drifted(applied: Project, drift: Drift) -> None:
    happen(applied, drift)
    planned = applied[drift.stack].plan().expect(2).changes
    assert planned == {drift.address: drift.action, **dict.fromkeys(drift.swept, "create")}


@pytest.mark.parametrize("stack", STACKS)
def test_the_next_apply_undoes_every_drift(applied: Project, stack: str) -> None:
    before = applied.objects
    for drift in DRIFTS:
        if drift.stack == stack:
            happen(applied, drift)
    assert applied.objects != before
    applied.hurry()
    applied[stack].apply().expect(0)
    assert applied.objects == before
    assert applied[stack].plan().expect(0).changes == {}


def test_replicas_that_the_service_added_are_no_drift(applied: Project) -> None:
    applied.change("training", POOL, "resource_pools.0.replica_count", "3")
    assert applied["training"].plan().expect(0).changes == {}


def test_a_pool_on_another_machine_cannot_be_put_right_by_destroying_it(applied: Project) -> None:
    applied.change("training", POOL, "resource_pools.0.machine_spec.0.machine_type", "a2-highgpu-8g")
    outcome = applied["training"].plan().expect(1)
    assert "Instance cannot be destroyed" in outcome.message
    assert POOL in outcome.message
