"""Mistakes in documents as a whole, in what is public, in grants and keys."""

from typing import Any

from policies.documents import Document, Values
from policies.mistakes import account, mutation

BUCKET = "google_storage_bucket"
DATASET = "google_bigquery_dataset"


def grant(document: Document, role: str, member: str, condition: Any = None) -> None:
    """One more grant on the whole project."""
    values = {"project": document.policy["project_id"], "role": role, "member": member}
    blocks: Values = {"condition": [condition] if condition else []}
    document.add("google_project_iam_member", {**values, **blocks}, "cloudresourcemanager")


@mutation("plan", "any", "OVN001")
def output_missing(document: Document) -> None:
    del document.content["planned_values"]["outputs"]["policy"]


@mutation("synth", "any", "OVN001")
def output_left_out(document: Document) -> None:
    del document.content["output"]["policy"]


@mutation("plan", "any", "OVN002")
def plan_targeted(document: Document) -> None:
    document.content["complete"] = False


@mutation("plan", "any", "OVN002")
def plan_failed(document: Document) -> None:
    document.content["errored"] = True


@mutation("plan", "any", "OVN101")
def bucket_open_to_all_users(document: Document) -> None:
    values = {"bucket": "b", "role": "roles/storage.objectViewer", "member": "allUsers", "condition": []}
    document.add("google_storage_bucket_iam_member", values, "storage")


@mutation("synth", "any", "OVN101")
def bucket_open_by_access_list(document: Document) -> None:
    document.add("google_storage_bucket_acl", {"bucket": "b", "predefined_acl": "publicRead"}, "storage")


@mutation("plan", "any", "OVN101")
def project_open_to_every_google_account(document: Document) -> None:
    grant(document, "roles/aiplatform.user", "allAuthenticatedUsers")


@mutation("synth", "any", "OVN101")
def registry_open_to_all_users(document: Document) -> None:
    values = {"repository": "r", "role": "roles/artifactregistry.reader", "member": "allUsers"}
    document.add("google_artifact_registry_repository_iam_member", values, "artifactregistry")


@mutation("plan", "artifacts", "OVN102", BUCKET)
def public_access_inherited(document: Document) -> None:
    document.first(BUCKET).set("public_access_prevention", "inherited")


@mutation("synth", "artifacts", "OVN102", BUCKET)
def public_access_left_to_the_default(document: Document) -> None:
    document.first(BUCKET).drop("public_access_prevention")


@mutation("plan", "artifacts", "OVN103", BUCKET)
def object_access_lists(document: Document) -> None:
    document.first(BUCKET).set("uniform_bucket_level_access", False)


@mutation("plan", "artifacts", "OVN104", DATASET)
def dataset_open_to_every_google_account(document: Document) -> None:
    document.first(DATASET).set("access", [{"role": "READER", "special_group": "allAuthenticatedUsers"}])


@mutation("synth", "any", "OVN104")
def dataset_open_to_all_users(document: Document) -> None:
    values = {"dataset_id": "d", "role": "roles/bigquery.dataViewer", "member": "allUsers"}
    document.add("google_bigquery_dataset_iam_member", values, "bigquery")


@mutation("plan", "any", "OVN201")
def owner_for_the_deploy_account(document: Document) -> None:
    grant(document, "roles/owner", account(document, "deploy"))


@mutation("synth", "any", "OVN201")
def viewer_for_the_plan_account(document: Document) -> None:
    grant(document, "roles/viewer", account(document, "plan"))


@mutation("plan", "any", "OVN201")
def editor_on_one_dataset(document: Document) -> None:
    values = {"dataset_id": "d", "role": "roles/editor", "member": account(document, "pipeline")}
    document.add("google_bigquery_dataset_iam_member", values, "bigquery")


@mutation("plan", "any", "OVN202")
def object_administration_for_training(document: Document) -> None:
    grant(document, "roles/storage.objectAdmin", account(document, "training"))


@mutation("synth", "any", "OVN202")
def administration_for_a_group(document: Document) -> None:
    grant(document, "roles/aiplatform.admin", "group:ml@acme.example")


@mutation("plan", "any", "OVN203")
def training_acts_as_everyone(document: Document) -> None:
    grant(document, "roles/iam.serviceAccountUser", account(document, "training"))


@mutation("synth", "any", "OVN203")
def scheduler_makes_tokens_for_everyone(document: Document) -> None:
    grant(document, "roles/iam.serviceAccountTokenCreator", account(document, "scheduler"))


@mutation("plan", "any", "OVN204")
def training_reads_every_bucket(document: Document) -> None:
    grant(document, "roles/storage.objectViewer", account(document, "training"))


@mutation("synth", "any", "OVN204")
def build_writes_every_registry(document: Document) -> None:
    grant(document, "roles/artifactregistry.writer", account(document, "build"))


@mutation("plan", "any", "OVN205")
def deploy_grants_anything(document: Document) -> None:
    grant(document, "roles/resourcemanager.projectIamAdmin", account(document, "deploy"))


@mutation("synth", "any", "OVN202 OVN205")
def pipeline_grants_anything(document: Document) -> None:
    grant(document, "roles/resourcemanager.projectIamAdmin", account(document, "pipeline"))


@mutation("plan", "any", "OVN202")
def pipeline_grants_what_a_condition_lists(document: Document) -> None:
    condition = {"title": "some", "expression": "true"}
    grant(document, "roles/resourcemanager.projectIamAdmin", account(document, "pipeline"), condition)


@mutation("plan", "any", "OVN206")
def policy_of_the_project(document: Document) -> None:
    document.add("google_project_iam_policy", {"project": "p", "policy_data": "{}"}, "cloudresourcemanager")


@mutation("synth", "any", "OVN206")
def policy_of_a_bucket(document: Document) -> None:
    document.add("google_storage_bucket_iam_policy", {"bucket": "b", "policy_data": "{}"}, "storage")


@mutation("plan", "any", "OVN206")
def binding_of_the_project(document: Document) -> None:
    values = {"project": "p", "role": "roles/aiplatform.user", "members": [account(document, "pipeline")]}
    document.add("google_project_iam_binding", values, "cloudresourcemanager")


@mutation("plan", "any", "OVN207")
def key_of_an_account(document: Document) -> None:
    document.add("google_service_account_key", {"service_account_id": "x"}, "iam")


@mutation("synth", "any", "OVN207")
def storage_key(document: Document) -> None:
    document.add("google_storage_hmac_key", {"service_account_email": "x"}, "storage")
