"""Mistakes in registries, labels, places, and in what must be kept."""

from policies.documents import Document, Values
from policies.mistakes import change_request, mutation

BUCKET = "google_storage_bucket"
DATASET = "google_bigquery_dataset"
REGISTRY = "google_artifact_registry_repository"
TRIGGER = "google_cloudbuild_trigger"
TOPIC = "google_pubsub_topic"
POOL = "google_vertex_ai_persistent_resource"
BOARD = "google_vertex_ai_tensorboard"
SCHEDULE = "google_colab_schedule"
JOB = "google_cloud_scheduler_job"
RING = "google_kms_key_ring"
KEY = "google_kms_crypto_key"
ALERT = "google_monitoring_alert_policy"
DIGEST = "sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"


def is_image_repository(values: Values) -> bool:
    """A registry of images that are kept."""
    return values["format"] == "DOCKER" and not values["repository_id"].endswith("-cache")


@mutation("plan", "artifacts", "OVN301", REGISTRY)
def tags_that_move(document: Document) -> None:
    document.first(REGISTRY, is_image_repository).block("docker_config")["immutable_tags"] = False


@mutation("synth", "artifacts", "OVN301", REGISTRY)
def tags_that_move_by_default(document: Document) -> None:
    document.first(REGISTRY, is_image_repository).drop("docker_config")


@mutation("plan", "artifacts", "OVN302", REGISTRY)
def releases_deleted(document: Document) -> None:
    cleanup = {"id": "old", "action": "DELETE", "condition": [{"tag_state": "TAGGED", "older_than": "1s"}]}
    document.first(REGISTRY, is_image_repository).set("cleanup_policies", [cleanup])


@mutation("synth", "artifacts", "OVN302", REGISTRY)
def any_version_deleted(document: Document) -> None:
    cleanup = {"id": "old", "action": "DELETE", "condition": {"older_than": "1s"}}
    document.first(REGISTRY, is_image_repository).set("cleanup_policies", [cleanup])


@mutation("plan", "training", "OVN311", SCHEDULE)
def template_by_tag(document: Document) -> None:
    job = document.first(SCHEDULE).block("create_pipeline_job_request", "pipeline_job")
    job["template_uri"] = job["template_uri"].partition("sha256:")[0] + "latest"


@mutation("synth", "training", "OVN311", JOB)
def template_by_tag_in_a_request(document: Document) -> None:
    change_request(document, templateUri="https://us-central1-kfp.pkg.dev/p/r/weekly/v3")


@mutation("plan", "delivery", "OVN312", TRIGGER)
def builder_by_tag(document: Document) -> None:
    substitute(document, "_BUILDER", "us-central1-docker.pkg.dev/p/prod-images/builder:v3")


@mutation("synth", "any", "OVN312")
def container_by_tag(document: Document) -> None:
    values = {"name": "j", "template": {"template": {"containers": [{"image": "python:3.11"}]}}}
    document.add("google_cloud_run_v2_job", values)


@mutation("plan", "delivery", "OVN313", TRIGGER)
def builder_in_container_registry(document: Document) -> None:
    substitute(document, "_BUILDER", f"eu.gcr.io/p/builder@{DIGEST}")


@mutation("synth", "delivery", "OVN313", TRIGGER)
def step_in_container_registry(document: Document) -> None:
    trigger = document.first(TRIGGER)
    trigger.set("build", {"step": [{"name": "gcr.io/cloud-builders/docker"}]})


def substitute(document: Document, name: str, value: str) -> None:
    """Set a substitution of the first trigger."""
    trigger = document.first(TRIGGER)
    trigger.set("substitutions", {**(trigger.values.get("substitutions") or {}), name: value})


@mutation("plan", "artifacts", "OVN401", BUCKET)
def labels_missing(document: Document) -> None:
    document.first(BUCKET).drop("labels")


@mutation("synth", "artifacts", "OVN401", DATASET)
def labels_missing_of_a_dataset(document: Document) -> None:
    document.first(DATASET).drop("labels")


@mutation("plan", "training", "OVN401", ALERT)
def owner_missing_of_an_alert(document: Document) -> None:
    del document.first(ALERT).values["user_labels"]["owner"]


@mutation("plan", "artifacts", "OVN402", BUCKET)
def label_of_another_stack(document: Document) -> None:
    document.first(BUCKET).values["labels"]["stack"] = "sandbox"


@mutation("synth", "artifacts", "OVN402", BUCKET)
def label_empty(document: Document) -> None:
    document.first(BUCKET).values["labels"]["owner"] = ""


@mutation("plan", "training", "OVN403", POOL)
def labels_on_a_pool(document: Document) -> None:
    document.first(POOL).set("labels", {"owner": "vision"})


@mutation("synth", "training", "OVN403", POOL)
def labels_on_a_written_pool(document: Document) -> None:
    document.first(POOL).set("labels", {"owner": "vision"})


@mutation("plan", "training", "OVN404", POOL)
def provider_adds_its_label(document: Document) -> None:
    del document.content["configuration"]["provider_config"]["google"]["expressions"]["add_terraform_attribution_label"]


@mutation("synth", "training", "OVN404", POOL)
def provider_has_default_labels(document: Document) -> None:
    document.content["provider"]["google"][0]["default_labels"] = {"team": "vision"}


@mutation("plan", "artifacts", "OVN501", BUCKET)
def bucket_in_a_multi_region(document: Document) -> None:
    document.first(BUCKET).set("location", "EU")


@mutation("synth", "artifacts", "OVN501", DATASET)
def dataset_without_a_location(document: Document) -> None:
    document.first(DATASET).drop("location")


@mutation("plan", "artifacts", "OVN501", BUCKET)
def bucket_in_two_regions(document: Document) -> None:
    document.first(BUCKET).set("custom_placement_config", [{"data_locations": ["US-CENTRAL1", "US-EAST1"]}])


@mutation("plan", "delivery", "OVN502", TRIGGER)
def trigger_elsewhere(document: Document) -> None:
    document.first(TRIGGER).set("location", "asia-northeast1")


@mutation("synth", "training", "OVN502", SCHEDULE)
def schedule_elsewhere(document: Document) -> None:
    document.first(SCHEDULE).set("location", "asia-northeast1")


@mutation("plan", "delivery", "OVN502", TOPIC)
def messages_elsewhere(document: Document) -> None:
    document.first(TOPIC).set("message_storage_policy", [{"allowed_persistence_regions": ["asia-northeast1"]}])


@mutation("synth", "artifacts", "OVN601", BUCKET)
def bucket_without_lifecycle(document: Document) -> None:
    document.first(BUCKET).drop("lifecycle")


@mutation("synth", "training", "OVN601", POOL)
def pool_that_may_be_destroyed(document: Document) -> None:
    document.first(POOL).block("lifecycle")["prevent_destroy"] = False


@mutation("synth", "foundation", "OVN601", RING)
def key_ring_without_lifecycle(document: Document) -> None:
    document.first(RING).drop("lifecycle")


def destroy(document: Document, type_: str, *actions: str) -> None:
    """Let the plan destroy, or replace, the first resource of a type."""
    change = document.first(type_).change["change"]
    change.update(actions=list(actions), before=change["after"])
    if "create" in actions:
        change["replace_paths"] = [["name"]]


@mutation("plan", "artifacts", "OVN602", BUCKET)
def bucket_destroyed(document: Document) -> None:
    destroy(document, BUCKET, "delete")


@mutation("plan", "training", "OVN602", POOL)
def pool_replaced(document: Document) -> None:
    destroy(document, POOL, "delete", "create")


@mutation("plan", "foundation", "OVN602", KEY)
def key_replaced(document: Document) -> None:
    destroy(document, KEY, "create", "delete")


@mutation("plan", "artifacts", "OVN603", BUCKET)
def bucket_emptied_on_the_way(document: Document) -> None:
    document.first(BUCKET).set("force_destroy", True)


@mutation("synth", "artifacts", "OVN603", DATASET)
def dataset_emptied_on_the_way(document: Document) -> None:
    document.first(DATASET).set("delete_contents_on_destroy", True)


@mutation("plan", "artifacts", "OVN611", BUCKET)
def bucket_with_googles_key(document: Document) -> None:
    document.first(BUCKET).set("encryption", [])


@mutation("plan", "training", "OVN611", POOL)
def pool_with_googles_key(document: Document) -> None:
    document.first(POOL).set("encryption_spec", [])


@mutation("synth", "artifacts", "OVN611", REGISTRY)
def registry_with_googles_key(document: Document) -> None:
    document.first(REGISTRY).drop("kms_key_name")


@mutation("plan", "foundation", "OVN612", KEY)
def key_never_renewed(document: Document) -> None:
    document.first(KEY).drop("rotation_period")


@mutation("synth", "foundation", "OVN612", KEY)
def key_renewed_every_two_years(document: Document) -> None:
    document.first(KEY).set("rotation_period", "63072000s")


@mutation("plan", "training", "OVN613", BOARD)
def key_in_another_region(document: Document) -> None:
    key = "projects/p/locations/asia-northeast1/keyRings/r/cryptoKeys/k"
    document.first(BOARD).set("encryption_spec", [{"kms_key_name": key}])


@mutation("synth", "artifacts", "OVN613", REGISTRY)
def global_key(document: Document) -> None:
    document.first(REGISTRY).set("kms_key_name", "projects/p/locations/global/keyRings/r/cryptoKeys/k")
