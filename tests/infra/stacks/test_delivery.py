"""The stack `delivery`, as its Terraform JSON reads: who builds what, on which event, as whom, where."""

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra import cdk
from infra.constructs.triggers import TRIGGERS, is_missing
from infra.settings import settings
from infra.stacks.delivery import Delivery
from overnight.config import ConfigError, load

ROOT = Path(__file__).parents[3]
Edit = Callable[[dict[str, Any]], None]


def environment_file(folder: Path, edit: Edit) -> Path:
    """config/example.yaml with its cloud_build section changed."""
    yaml = YAML()
    content = yaml.load(ROOT / "config" / "example.yaml")
    edit(content["google"]["cloud_build"])
    path = folder / "example.yaml"
    yaml.dump(content, path)
    return path


def synthesized(folder: Path, edit: Edit = lambda _: None) -> dict[str, Any]:
    path = environment_file(folder, edit)
    app = cdk.App(outdir=str(folder / "out"))
    Delivery(app, settings(load(path), path, today=date(2026, 12, 1)))
    app.synth()
    loaded: dict[str, Any] = json.loads((folder / "out/stacks/delivery/cdk.tf.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return synthesized(tmp_path_factory.mktemp("delivery"))


@pytest.fixture(scope="module")
def without_options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    def edit(cloud_build: dict[str, Any]) -> None:
        del cloud_build["private_pool"]
        cloud_build["notifications"] = False
        cloud_build["repository"]["main_branch"] = "release/1.0"

    return synthesized(tmp_path_factory.mktemp("without_options"), edit)


def triggers(stack: dict[str, Any]) -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = stack["resource"]["google_cloudbuild_trigger"]
    return made


def account(trigger: dict[str, Any]) -> str:
    matched = re.fullmatch(r"projects/acme-vision-prod/serviceAccounts/example-(\w+)@.+", trigger["service_account"])
    assert matched
    return matched[1]


def test_each_trigger_runs_its_file_on_its_event_as_its_own_account(stack: dict[str, Any]) -> None:
    seen = {
        name: (
            trigger["filename"],
            next(event for event in ("push", "pull_request") if event in trigger["repository_event_config"]),
            account(trigger),
        )
        for name, trigger in triggers(stack).items()
    }
    assert seen == {
        "pull_request_trigger": ("cloudbuild/pull-request.yaml", "pull_request", "check"),
        "infra_plan_trigger": ("cloudbuild/infra-plan.yaml", "pull_request", "plan"),
        "infra_apply_trigger": ("cloudbuild/infra-apply.yaml", "push", "deploy"),
        "images_trigger": ("cloudbuild/images.yaml", "push", "build"),
        "pipeline_publish_trigger": ("cloudbuild/pipeline.yaml", "push", "build"),
    }


def test_pull_requests_never_run_as_an_account_that_changes_something(stack: dict[str, Any]) -> None:
    for trigger in triggers(stack).values():
        event = trigger["repository_event_config"]
        assert ("pull_request" in event) == (account(trigger) in ("check", "plan"))


def test_a_pull_request_from_a_fork_waits_for_a_comment(stack: dict[str, Any]) -> None:
    events = [trigger["repository_event_config"].get("pull_request") for trigger in triggers(stack).values()]
    assert {event["comment_control"] for event in events if event} == {
        "COMMENTS_ENABLED_FOR_EXTERNAL_CONTRIBUTORS_ONLY"
    }


def test_only_applying_waits_for_a_person(stack: dict[str, Any]) -> None:
    approved = {name for name, trigger in triggers(stack).items() if "approval_config" in trigger}
    assert approved == {"infra_apply_trigger"}
    assert triggers(stack)["infra_apply_trigger"]["approval_config"] == {"approval_required": True}


def test_a_change_of_documentation_builds_no_image_and_plans_nothing(stack: dict[str, Any]) -> None:
    for name in ("images_trigger", "pipeline_publish_trigger", "infra_plan_trigger", "infra_apply_trigger"):
        patterns = triggers(stack)[name]["included_files"]
        assert patterns
        assert not [pattern for pattern in patterns if pattern.startswith(("docs", "*", "README"))]


def test_planning_and_applying_follow_the_same_files(stack: dict[str, Any]) -> None:
    plan, apply = triggers(stack)["infra_plan_trigger"], triggers(stack)["infra_apply_trigger"]
    assert plan["included_files"] == apply["included_files"]
    assert {"infra/**", "config/**", "policies/**"} <= set(plan["included_files"])


def test_images_are_built_on_the_bases_of_the_environment_file_and_recorded_in_the_models_bucket(
    stack: dict[str, Any],
) -> None:
    given = triggers(stack)["images_trigger"]["substitutions"]
    bases = YAML(typ="safe", pure=True).load(ROOT / "config/example.yaml")["google"]["cloud_build"]["base_images"]
    assert {name: given[f"_BASE_{name.upper()}"] for name in bases} == bases
    assert given["_RELEASES"] == "gs://acme-vision-prod-example-models/releases"
    assert given["_SOURCE"] == "https://github.com/acme/vision-overnight"


def test_without_base_images_nothing_is_built_and_no_template_waits_for_images(tmp_path: Path) -> None:
    def without_bases(cloud_build: dict[str, Any]) -> None:
        del cloud_build["base_images"]

    made = triggers(synthesized(tmp_path, without_bases))
    disabled = {trigger["filename"] for trigger in made.values() if trigger["disabled"]}
    assert disabled == {"cloudbuild/images.yaml", "cloudbuild/pipeline.yaml"}


def test_a_trigger_is_disabled_exactly_while_its_file_is_missing(stack: dict[str, Any]) -> None:
    disabled = {trigger["filename"] for trigger in triggers(stack).values() if trigger["disabled"]}
    assert disabled == {trigger.file for trigger in TRIGGERS if not (ROOT / trigger.file).exists()}
    assert not {"cloudbuild/pull-request.yaml", "cloudbuild/infra-plan.yaml", "cloudbuild/infra-apply.yaml"} & disabled


def test_a_file_counts_as_missing_until_it_stands_in_the_checkout(tmp_path: Path) -> None:
    assert is_missing("cloudbuild/images.yaml", tmp_path)
    (tmp_path / "cloudbuild").mkdir()
    (tmp_path / "cloudbuild" / "images.yaml").write_text("steps: []\n")
    assert not is_missing("cloudbuild/images.yaml", tmp_path)


@pytest.mark.parametrize("trigger", [trigger for trigger in TRIGGERS if (ROOT / trigger.file).exists()])
def test_a_trigger_passes_every_substitution_that_its_file_uses(stack: dict[str, Any], trigger: Any) -> None:
    passed = triggers(stack)[f"{trigger.name.replace('-', '_')}_trigger"]["substitutions"]
    text = (ROOT / trigger.file).read_text()
    used = set(re.findall(r"\$\{?(_[A-Z0-9_]+)", text))
    assert "_BUILDER_IMAGE" in used
    assert used <= set(passed) | set(YAML(typ="safe", pure=True).load(text).get("substitutions", {}))
    # Cloud Build's own rule for user-defined names.
    assert all(re.fullmatch(r"_[A-Z0-9_]{1,99}", name) for name in passed)


def test_the_environment_file_that_builds_read_is_the_one_in_config(stack: dict[str, Any]) -> None:
    passed = triggers(stack)["infra_apply_trigger"]["substitutions"]
    assert load(ROOT / passed["_CONFIG"]).environment == passed["_ENVIRONMENT"] == "example"


def test_the_branch_is_matched_literally(without_options: dict[str, Any]) -> None:
    (branch,) = {
        event["branch"]
        for trigger in triggers(without_options).values()
        for event in (trigger["repository_event_config"].get("push"),)
        if event
    }
    assert re.fullmatch(branch, "release/1.0")
    assert not re.fullmatch(branch, "release/1x0")
    assert not re.search(branch, "old-release/1.0-rc")


def test_builds_run_on_the_private_pool(stack: dict[str, Any]) -> None:
    (pool,) = stack["resource"]["google_cloudbuild_worker_pool"].values()
    assert pool["worker_config"] == {"disk_size_gb": 200, "machine_type": "e2-standard-8", "no_external_ip": True}
    assert "network_config" not in pool
    reference = "${google_cloudbuild_worker_pool.builds_worker_pool.id}"
    assert {trigger["substitutions"]["_POOL"] for trigger in triggers(stack).values()} == {reference}
    assert {pool["location"], *(trigger["location"] for trigger in triggers(stack).values())} == {"us-central1"}


def test_a_private_pool_left_out_leaves_none(without_options: dict[str, Any]) -> None:
    assert "google_cloudbuild_worker_pool" not in without_options["resource"]
    assert {trigger["substitutions"]["_POOL"] for trigger in triggers(without_options).values()} == {""}
    assert without_options["output"]["worker_pool"]["value"] == ""


def test_the_pool_joins_the_peered_network(tmp_path: Path) -> None:
    network = "projects/481516234207/global/networks/build"
    stack = synthesized(tmp_path, lambda cloud_build: cloud_build["private_pool"].update(peered_network=network))
    (pool,) = stack["resource"]["google_cloudbuild_worker_pool"].values()
    assert pool["network_config"] == {"peered_network": network}


def test_the_connection_waits_until_its_agent_may_read_its_one_secret(stack: dict[str, Any]) -> None:
    resources = stack["resource"]
    (access,) = resources["google_secret_manager_secret_iam_member"].values()
    assert access["secret_id"] == "github-token"
    assert access["project"] == "acme-vision-prod"
    assert access["role"] == "roles/secretmanager.secretAccessor"
    assert access["member"] == "serviceAccount:service-481516234207@gcp-sa-cloudbuild.iam.gserviceaccount.com"
    (connection,) = resources["google_cloudbuildv2_connection"].values()
    assert connection["depends_on"] == ["google_secret_manager_secret_iam_member.cloudbuild_agent_reads_github_token"]


def test_builds_are_published_to_the_topic_that_cloud_build_knows(stack: dict[str, Any]) -> None:
    (topic,) = stack["resource"]["google_pubsub_topic"].values()
    assert topic["name"] == "cloud-builds"
    assert topic["kms_key_name"].endswith("/cryptoKeys/storage")
    assert topic["message_storage_policy"] == {"allowed_persistence_regions": ["us-central1"]}
    assert topic["labels"]["stack"] == "delivery"
    (reader,) = stack["resource"]["google_pubsub_subscription_iam_member"].values()
    assert (reader["role"], reader["member"].split("@")[0]) == (
        "roles/pubsub.subscriber",
        "serviceAccount:example-pipeline",
    )
    (subscription,) = stack["resource"]["google_pubsub_subscription"].values()
    assert subscription["expiration_policy"] == {"ttl": ""}


def test_only_one_environment_of_a_project_makes_the_topic(without_options: dict[str, Any]) -> None:
    assert not [kind for kind in without_options["resource"] if "pubsub" in kind]
    assert without_options["output"]["topic"]["value"] == ""


def test_builds_may_only_add_plans_to_the_logs(stack: dict[str, Any]) -> None:
    members = stack["resource"]["google_storage_bucket_iam_member"]
    assert {name: (member["role"], member["bucket"]) for name, member in members.items()} == {
        "plan_records_plans": ("roles/storage.objectCreator", "acme-vision-prod-example-logs"),
        "deploy_records_plans": ("roles/storage.objectCreator", "acme-vision-prod-example-logs"),
    }
    for member in members.values():
        expected = 'resource.name.startsWith("projects/_/buckets/acme-vision-prod-example-logs/objects/plans/")'
        assert member["condition"]["expression"] == expected


def test_the_control_plane_finds_triggers_link_topic_and_pool(stack: dict[str, Any]) -> None:
    output = stack["output"]
    assert {"policy", "triggers", "repository", "topic", "subscription", "worker_pool"} == set(output)
    assert set(output["triggers"]["value"]) == {trigger.name for trigger in TRIGGERS}


@pytest.mark.parametrize(
    ("image", "says"),
    [
        ("us-central1-docker.pkg.dev/acme/images/builder:latest", "a tag can move"),
        ("gcr.io/acme/builder@sha256:" + "0" * 64, "Container Registry (gcr.io) is gone"),
        ("eu.gcr.io/acme/builder@sha256:" + "0" * 64, "Container Registry (gcr.io) is gone"),
        ("us-central1-docker.pkg.dev/acme/images/builder@sha256:" + "0" * 63, "64 hex digits"),
        ("builder@sha256:" + "0" * 64, "host/path@sha256"),
    ],
)
def test_a_builder_image_that_can_change_unseen_is_refused(tmp_path: Path, image: str, says: str) -> None:
    path = environment_file(tmp_path, lambda cloud_build: cloud_build.update(builder_image=image))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert says in caught.value.sentence
    assert "google.cloud_build.builder_image" in caught.value.sentence


@pytest.mark.parametrize("base", ["builder", "steps", "trainer_cpu", "trainer_gpu"])
def test_a_base_image_by_tag_is_refused(tmp_path: Path, base: str) -> None:
    path = environment_file(tmp_path, lambda build: build["base_images"].update({base: "registry.example/python:3.11"}))
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert f"google.cloud_build.base_images.{base}" in caught.value.sentence
    assert "name the base image by digest" in caught.value.sentence


def test_a_repository_that_is_not_on_github_is_refused(tmp_path: Path) -> None:
    def elsewhere(cloud_build: dict[str, Any]) -> None:
        cloud_build["repository"]["remote_uri"] = "https://gitlab.example/acme/vision.git"

    with pytest.raises(ConfigError, match="remote_uri"):
        load(environment_file(tmp_path, elsewhere))
