"""A stack's life on the emulated project, driven by real Terraform."""

import copy
import json
from typing import Any

import pytest

from terraform import launch
from terraform.workspace import Workspace

BUCKET = "acme-vision-small-shards"
POOL = "projects/acme-vision/locations/us-central1/persistentResources/night-v1"
POOL_ADDRESS = "google_vertex_ai_persistent_resource.night_pool"


def changed(configuration: dict[str, Any], resource_type: str, name: str, **values: Any) -> dict[str, Any]:
    other = copy.deepcopy(configuration)
    other["resource"][resource_type][name].update(values)
    return other


def changed_pool(configuration: dict[str, Any], **values: Any) -> dict[str, Any]:
    pool = configuration["resource"]["google_vertex_ai_persistent_resource"]["night_pool"]["resource_pools"][0]
    pools = [{**pool, **values}]
    return changed(configuration, "google_vertex_ai_persistent_resource", "night_pool", resource_pools=pools)


def test_an_applied_stack_needs_no_change_until_the_project_drifts(small: Workspace) -> None:
    small.apply()
    assert small.actions() == {}
    with launch.edit(small.cloud) as contents:
        contents["google_storage_bucket"][BUCKET]["versioning"][0]["enabled"] = False
        del contents["google_pubsub_topic"]["projects/acme-vision/topics/small-runs"]
    assert small.actions() == {
        "google_storage_bucket.shards_bucket": ("update",),
        "google_pubsub_topic.runs_topic": ("create",),
    }
    small.apply()
    assert small.actions() == {}
    assert small.objects("google_storage_bucket")[BUCKET]["versioning"] == [{"enabled": True}]


def test_a_plan_knows_defaults_and_addresses_but_not_what_the_api_answers(small: Workspace) -> None:
    small.terraform("plan", "-out=plan")
    plan = json.loads(small.terraform("show", "-json", "plan"))
    after = {each["address"]: each["change"]["after"] for each in plan["resource_changes"]}
    unknown = {each["address"]: each["change"]["after_unknown"] for each in plan["resource_changes"]}
    assert after["google_artifact_registry_repository.images_repository"]["mode"] == "STANDARD_REPOSITORY"
    assert after["google_storage_bucket.shards_bucket"]["storage_class"] == "STANDARD"
    assert after["google_storage_bucket.shards_bucket"]["effective_labels"] == {"owner": "vision-team"}
    account = after["google_service_account.build_account"]
    assert account["email"] == "small-build@acme-vision.iam.gserviceaccount.com"
    assert unknown["google_service_account.build_account"]["unique_id"] is True
    assert unknown["google_storage_bucket.shards_bucket"]["encryption"][0]["default_kms_key_name"] is True


def test_nearly_every_change_of_a_pool_replaces_it(small: Workspace, configuration: dict[str, Any]) -> None:
    small.apply()
    more_machines = changed_pool(configuration, replica_count="2")
    larger_disk = changed_pool(configuration, disk_spec=[{"boot_disk_type": "pd-ssd", "boot_disk_size_gb": 500}])
    labels = changed(
        configuration, "google_vertex_ai_persistent_resource", "night_pool", labels={"owner": "someone-else"}
    )
    for other in (more_machines, larger_disk, labels):
        small.write(other)
        assert small.actions() == {POOL_ADDRESS: ("delete", "create")}
    small.write(changed(configuration, "google_vertex_ai_persistent_resource", "night_pool", display_name="nights"))
    assert small.actions() == {POOL_ADDRESS: ("update",)}


def test_the_provider_s_own_label_replaces_a_pool(small: Workspace, configuration: dict[str, Any]) -> None:
    small.apply()
    other = copy.deepcopy(configuration)
    del other["provider"]["google"]["add_terraform_attribution_label"]
    small.write(other)
    actions = small.actions()
    assert actions[POOL_ADDRESS] == ("delete", "create")
    assert actions["google_storage_bucket.shards_bucket"] == ("update",)


def test_an_autoscaled_pool_s_live_size_plans_a_replacement_unless_ignored(
    small: Workspace, configuration: dict[str, Any]
) -> None:
    scaled = changed_pool(configuration, autoscaling_spec=[{"min_replica_count": "1", "max_replica_count": "4"}])
    pool = scaled["resource"]["google_vertex_ai_persistent_resource"]["night_pool"]
    del pool["resource_pools"][0]["replica_count"]
    small.write(scaled)
    small.apply()
    assert small.actions() == {POOL_ADDRESS: ("delete", "create")}
    pool["lifecycle"] = {"ignore_changes": ["resource_pools[0].replica_count"]}
    small.write(scaled)
    assert small.actions() == {}


def test_a_failed_apply_keeps_what_was_made_and_the_next_one_finishes(small: Workspace) -> None:
    launch.switch(small.cloud, fail=["once:google_storage_bucket:create:Error 503: backend unavailable"])
    output = small.apply(expect=(1,))
    assert "Error 503: backend unavailable" in output
    assert small.objects("google_storage_bucket") == {}
    assert POOL in small.objects("google_vertex_ai_persistent_resource")
    small.apply()
    assert small.actions() == {}


def test_destroying_leaves_only_what_google_keeps(small: Workspace) -> None:
    small.apply()
    small.terraform("destroy", "-auto-approve")
    left = {name for name, found in json.loads(small.cloud.read_text()).items() if found and "//" not in name}
    assert left == {
        "google_kms_crypto_key",
        "google_kms_key_ring",
        "google_project_service",
        "google_project_service_identity",
    }


@pytest.mark.parametrize("protection", [{"deletion_policy": "PREVENT"}, {"force_destroy": False}])
def test_a_protected_or_filled_bucket_is_not_destroyed(
    protection: dict[str, Any], small: Workspace, configuration: dict[str, Any]
) -> None:
    small.write(changed(configuration, "google_storage_bucket", "shards_bucket", **protection))
    small.apply()
    with launch.edit(small.cloud) as contents:
        contents["google_storage_bucket_object"] = {"shard": {"id": "shard", "bucket": BUCKET}}
    small.terraform("destroy", "-auto-approve", expect=(1,))
    assert BUCKET in small.objects("google_storage_bucket")


def test_strict_mode_accepts_a_stack_that_waits_for_what_it_needs(small: Workspace) -> None:
    launch.switch(small.cloud, strict=True)
    small.apply()
    assert small.actions() == {}


@pytest.mark.parametrize(
    ("resource_type", "name", "values", "expected"),
    [
        ("google_pubsub_topic", "runs_topic", {"depends_on": []}, "pubsub.googleapis.com has not been used"),
        (
            "google_storage_bucket",
            "shards_bucket",
            {"depends_on": ["google_project_service.storage_api"]},
            "grant serviceAccount:service-481516234207@gs-project-accounts.iam.gserviceaccount.com a role",
        ),
        (
            "google_project_iam_member",
            "pipeline_uses_vertex",
            {"member": "serviceAccount:small-pipeline@acme-vision.iam.gserviceaccount.com"},
            "Service account small-pipeline@acme-vision.iam.gserviceaccount.com does not exist",
        ),
        (
            "google_kms_crypto_key_iam_member",
            "vertex_uses_key",
            {"member": "serviceAccount:service-481516234207@gcp-sa-aiplatform.iam.gserviceaccount.com"},
            "service-481516234207@gcp-sa-aiplatform.iam.gserviceaccount.com does not exist",
        ),
    ],
)
def test_strict_mode_finds_what_does_not_wait(
    resource_type: str, name: str, values: Any, expected: str, small: Workspace, configuration: dict[str, Any]
) -> None:
    without_delay = changed(configuration, resource_type, name, **values)
    # The agent's identity waits for its service: without that, it would be there as early as the grant.
    small.write(without_delay)
    launch.switch(small.cloud, strict=True)
    assert expected in small.apply(expect=(1,))


def test_a_bucket_is_imported_by_its_documented_ids(small: Workspace, configuration: dict[str, Any]) -> None:
    small.apply()
    for given in (BUCKET, f"acme-vision/{BUCKET}"):
        small.terraform("state", "rm", "google_storage_bucket.shards_bucket")
        small.write({**configuration, "import": [{"to": "google_storage_bucket.shards_bucket", "id": given}]})
        small.apply()
        small.write(configuration)
        assert small.actions() == {}


def test_a_made_up_id_is_not_imported(small: Workspace) -> None:
    output = small.terraform("import", "google_pubsub_topic.runs_topic", "nobody", expect=(1,))
    assert "Cannot import non-existent remote object" in output


def test_a_data_source_gives_the_project_s_number(small: Workspace) -> None:
    small.apply()
    assert json.loads(small.terraform("output", "-json"))["project_number"]["value"] == "481516234207"
