import json
from collections import Counter
from typing import Any

import pytest

from infra.stacks.training import Training
from training_stack import resources, synthesized

SERVICES = {
    "google_billing_budget": "billingbudgets",
    "google_cloud_scheduler_job": "cloudscheduler",
    "google_colab_schedule": "aiplatform",
    "google_logging_metric": "logging",
    "google_monitoring_alert_policy": "monitoring",
    "google_monitoring_dashboard": "monitoring",
    "google_monitoring_notification_channel": "monitoring",
    "google_vertex_ai_persistent_resource": "aiplatform",
    "google_vertex_ai_tensorboard": "aiplatform",
}


def as_it_stands(_: dict[str, Any]) -> None:
    return


def minimal(google: dict[str, Any]) -> None:
    google["cmek"]["enabled"] = False
    google["persistent_resources"] = []
    for name in ("weekly", "monthly_tuning"):
        google["schedules"][name]["enabled"] = False


def by_scheduler(google: dict[str, Any]) -> None:
    google["schedules"]["engine"] = "cloud_scheduler"


def unprotected(google: dict[str, Any]) -> None:
    google["protect"] = False


def kinds(edit: Any) -> Counter[str]:
    """How many resources of each Terraform type."""
    return Counter({kind: len(made) for kind, made in synthesized(edit)["resource"].items()})


def test_the_example_makes_everything() -> None:
    assert kinds(as_it_stands) == {
        "google_billing_budget": 1,
        "google_colab_schedule": 2,
        "google_logging_metric": 14,
        "google_monitoring_alert_policy": 7,
        "google_monitoring_dashboard": 1,
        "google_monitoring_notification_channel": 1,
        "google_vertex_ai_persistent_resource": 1,
        "google_vertex_ai_tensorboard": 1,
    }


def test_what_is_left_out_leaves_no_resource() -> None:
    difference = kinds(as_it_stands) - kinds(minimal)
    # The schedules stay, paused; only their missed windows are no longer watched.
    assert difference == {"google_vertex_ai_persistent_resource": 1, "google_monitoring_alert_policy": 2}


def test_without_own_keys_no_key_is_named_anywhere() -> None:
    assert "cryptoKeys" in json.dumps(synthesized(as_it_stands))
    assert "cryptoKeys" not in json.dumps(synthesized(minimal))


@pytest.mark.parametrize("edit", [as_it_stands, by_scheduler])
def test_every_resource_has_its_service_among_the_stacks_apis(edit: Any) -> None:
    needed = {f"{SERVICES[kind]}.googleapis.com" for kind in kinds(edit)}
    assert needed <= set(Training.apis)
    assert synthesized(edit)["output"]["policy"]["value"]["required_apis"] == sorted(Training.apis)


def test_what_carries_labels_carries_all_of_them() -> None:
    expected = {
        "owner": "vision-team",
        "cost_center": "ml-042",
        "environment": "example",
        "managed_by": "overnight",
        "stack": "training",
    }
    assert resources("google_vertex_ai_tensorboard")["runs_tensorboard"]["labels"] == expected
    for kind in ("google_monitoring_alert_policy", "google_monitoring_notification_channel"):
        assert all(made["user_labels"] == expected for made in resources(kind).values())


def test_the_tensorboard_is_kept_while_protected() -> None:
    for edit, kept in ((as_it_stands, True), (unprotected, False)):
        tensorboard = resources("google_vertex_ai_tensorboard", edit)["runs_tensorboard"]
        assert tensorboard["lifecycle"] == {"prevent_destroy": kept}
    assert tensorboard["region"] == "us-central1"


def test_outputs_name_what_the_control_plane_needs() -> None:
    output = synthesized(as_it_stands)["output"]
    assert output["tensorboard"]["value"] == "${google_vertex_ai_tensorboard.runs_tensorboard.name}"
    assert output["notification_channels"]["value"] == [
        "${google_monitoring_notification_channel.vision_oncall_acme_example_channel.id}"
    ]
    assert set(output) == {"policy", "persistent_resources", "schedules", "tensorboard", "notification_channels"}


def test_the_policy_output_tells_each_pools_owner_and_expiry() -> None:
    policy = synthesized(as_it_stands)["output"]["policy"]["value"]
    assert policy["persistent_resources"] == {
        "night-a100-v1": {"owner": "vision-team@acme.example", "expires": "2027-06-30"}
    }
