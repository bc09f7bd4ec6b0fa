"""The stack `foundation`, as its Terraform JSON reads: what is switched on, who exists, who may do what."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from granted import Granted, documented, grants, holder, members
from infra.app import STACKS
from infra.constructs.accounts import TENSORBOARD_PERMISSIONS
from overnight.config import load
from overnight.config.names import ROLES, Names

ROOT = Path(__file__).parents[3]
StacksOf = Callable[[str], dict[str, dict[str, Any]]]
Resources = dict[str, dict[str, Any]]

WIDE = {
    "build": {"logging.logWriter", "cloudbuild.workerPoolUser"},
    "check": {"logging.logWriter", "cloudbuild.workerPoolUser"},
    "training": {"logging.logWriter", "example_tensorboard_writer"},
    "pipeline": {"logging.logWriter", "aiplatform.user", "bigquery.jobUser", "containeranalysis.occurrences.viewer"},
    "scheduler": {"aiplatform.user"},
    "agent aiplatform": {"aiplatform.serviceAgent"},
    "agent aiplatform-cc": {"aiplatform.customCodeServiceAgent"},
    "agent cloudbuild": {"cloudbuild.serviceAgent"},
}
"""What those who run code may hold on the whole project. `plan` and `deploy` have rules of their own below."""
READ_ONLY = re.compile(r".*([vV]iewer|securityReviewer|serviceUsageConsumer|logWriter|workerPoolUser)")


def resources(stack: dict[str, Any], kind: str) -> Resources:
    found: Resources = stack["resource"].get(kind, {})
    return found


def wide_roles(stacks: dict[str, dict[str, Any]]) -> dict[str, set[str]]:
    """Roles on the whole project by holder, without `roles/` or the project."""
    found: dict[str, set[str]] = {}
    for kind, values in members(stacks):
        if kind == "google_project_iam_member":
            role = values["role"].removeprefix("roles/").rpartition("/")[2]
            found.setdefault(holder(values["member"]), set()).add(role)
    return found


def condition(stacks: dict[str, dict[str, Any]]) -> str:
    """Of deploy's right to change who holds which role."""
    grant = resources(stacks["foundation"], "google_project_iam_member")["deploy_grants_roles"]
    expression: str = grant["condition"]["expression"]
    return expression


def test_every_api_that_a_stack_needs_is_switched_on_and_stays_on(stacks_of: StacksOf) -> None:
    services = resources(stacks_of("example")["foundation"], "google_project_service")
    assert {each["service"] for each in services.values()} == {api for stack in STACKS for api in stack.apis}
    assert {each["disable_on_destroy"] for each in services.values()} == {False}


def test_apis_that_switch_on_apis_come_first(stacks_of: StacksOf) -> None:
    services = resources(stacks_of("example")["foundation"], "google_project_service")
    first = {f"google_project_service.{name}_api" for name in ("cloudresourcemanager", "serviceusage")}
    for name, service in services.items():
        expected = set() if f"google_project_service.{name}" in first else first
        assert set(service.get("depends_on", ())) == expected, name


def test_every_role_has_an_account_and_no_account_has_a_key(stacks_of: StacksOf) -> None:
    stacks = stacks_of("example")
    accounts = resources(stacks["foundation"], "google_service_account")
    assert {each["account_id"] for each in accounts.values()} == {f"example-{role}" for role in ROLES}
    for stack in stacks.values():
        assert "google_service_account_key" not in stack["resource"]


def test_account_ids_keep_within_googles_30_characters() -> None:
    google = load(ROOT / "config" / "example.yaml").google
    assert google is not None
    for environment in ("a", "a" * 20):
        names = Names(environment=environment, google=google)
        for role in ROLES:
            assert re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", names.account_id(role)), names.account_id(role)


def test_the_page_on_access_lists_every_grant_and_no_other(stacks_of: StacksOf) -> None:
    granted = grants(stacks_of("example")) | grants(stacks_of("cloud-scheduler"))
    page = documented(ROOT / "docs" / "infra-iam.md")
    assert sorted(granted - page) == []
    assert sorted(page - granted) == []


@pytest.mark.parametrize("configuration", ["example", "cloud-scheduler", "google-keys", "shared-workers", "quiet"])
def test_code_holds_no_role_on_the_whole_project_beyond_the_list(stacks_of: StacksOf, configuration: str) -> None:
    for who, roles in wide_roles(stacks_of(configuration)).items():
        if who not in ("plan", "deploy"):
            assert roles <= WIDE[who], who


def test_plan_only_reads(stacks_of: StacksOf) -> None:
    stacks = stacks_of("example")
    assert [role for role in wide_roles(stacks)["plan"] if not READ_ONLY.fullmatch(role)] == []
    elsewhere = {each.role for each in grants(stacks) if each.who == "plan" and not each.on.startswith("the project")}
    assert elsewhere == {
        "roles/storage.objectViewer",
        "roles/artifactregistry.reader",
        "roles/cloudkms.viewer",
        # The record of plans: it may add to it, not read, replace or delete.
        "roles/storage.objectCreator",
    }


def test_no_one_holds_a_primitive_role(stacks_of: StacksOf) -> None:
    for _, values in members(stacks_of("example")):
        assert values["role"] not in ("roles/owner", "roles/editor", "roles/viewer")


@pytest.mark.parametrize("configuration", ["example", "shared-workers", "cloud-scheduler"])
def test_deploy_may_grant_exactly_what_the_other_accounts_hold(stacks_of: StacksOf, configuration: str) -> None:
    stacks = stacks_of(configuration)
    held = {
        values["role"]
        for kind, values in members(stacks)
        if kind == "google_project_iam_member" and holder(values["member"]) in set(ROLES) - {"deploy"}
    }
    assert set(re.findall(r"'((?:roles|projects)/[^']+)'", condition(stacks))) == held
    assert "roles/resourcemanager.projectIamAdmin" not in held


def test_the_condition_is_one_that_iam_accepts(stacks_of: StacksOf) -> None:
    """Limits of IAM: ten roles a list, twelve logical operators, an empty list as the default."""
    groups = condition(stacks_of("example")).split(" || ")
    for group in groups:
        found = re.fullmatch(
            r"api\.getAttribute\('iam\.googleapis\.com/modifiedGrantsByRole', \[\]\)\.hasOnly\(\[(.+)\]\)", group
        )
        assert found, group
        assert 1 <= len(found[1].split(", ")) <= 10
    assert len(groups) <= 13


def test_no_request_changes_members_of_roles_in_two_lists(stacks_of: StacksOf) -> None:
    (provider,) = stacks_of("example")["foundation"]["provider"]["google"]
    assert provider["batching"] == {"enable_batching": False}


def test_deploy_administers_each_of_our_accounts_and_none_beside(stacks_of: StacksOf) -> None:
    granted = grants(stacks_of("example"))
    admin = "roles/iam.serviceAccountAdmin"
    assert {each for each in granted if each.role == admin} == {
        Granted("deploy", f"account {role}", admin) for role in ROLES
    }


@pytest.mark.parametrize(
    ("configuration", "scheduler"), [("example", set()), ("cloud-scheduler", {("scheduler", "account pipeline")})]
)
def test_who_acts_as_whom(stacks_of: StacksOf, configuration: str, scheduler: set[tuple[str, str]]) -> None:
    acting = "roles/iam.serviceAccountUser"
    acts = {(each.who, each.on) for each in grants(stacks_of(configuration)) if each.role == acting}
    triggers_and_schedules = ("build", "check", "plan", "deploy", "pipeline", "scheduler")
    deploy = {("deploy", f"account {role}") for role in triggers_and_schedules}
    assert acts == {("pipeline", "account training")} | deploy | scheduler


def test_training_code_may_write_curves_and_start_nothing(stacks_of: StacksOf) -> None:
    (role,) = resources(stacks_of("example")["foundation"], "google_project_iam_custom_role").values()
    assert role["permissions"] == list(TENSORBOARD_PERMISSIONS)
    assert all(re.fullmatch(r"aiplatform\.tensorboard\w*\.\w+", each) for each in role["permissions"])
    assert not any(each.endswith((".delete", "Iam")) for each in role["permissions"])


def test_an_environment_reaches_only_its_own_state(stacks_of: StacksOf) -> None:
    members_ = resources(stacks_of("example")["foundation"], "google_storage_bucket_iam_member")
    expression = (
        'resource.type == "storage.googleapis.com/Bucket" || resource.name.startsWith('
        '"projects/_/buckets/acme-vision-prod-terraform-state/objects/overnight/example/")'
    )
    assert {name: (each["role"], each["condition"]["expression"]) for name, each in members_.items()} == {
        "deploy_writes_state": ("roles/storage.objectUser", expression),
        "plan_reads_state": ("roles/storage.objectViewer", expression),
    }
    for stack in stacks_of("example").values():
        assert stack["terraform"]["backend"]["gcs"]["prefix"].startswith("overnight/example/")


def test_agents_exist_before_they_are_granted_anything(stacks_of: StacksOf) -> None:
    foundation = stacks_of("example")["foundation"]
    agents = resources(foundation, "google_project_service_identity")
    assert {each["service"].partition(".")[0] for each in agents.values()} == {
        "aiplatform",
        "artifactregistry",
        "cloudbuild",
        "pubsub",
    }
    assert {each["provider"] for each in agents.values()} == {"google-beta"}
    kinds = ("google_project_iam_member", "google_kms_crypto_key_iam_member")
    for grant in (each for kind in kinds for each in resources(foundation, kind).values()):
        if "@gcp-sa-" in grant["member"]:
            service = re.findall(r"gcp-sa-([a-z]+)", grant["member"])[0]
            assert grant["depends_on"] == [f"google_project_service_identity.{service}_agent"]


def test_googles_keys_leave_no_key_and_no_agent_that_only_keys_need(stacks_of: StacksOf) -> None:
    foundation = stacks_of("google-keys")["foundation"]
    assert [kind for kind in foundation["resource"] if "_kms_" in kind] == []
    assert "data" not in foundation
    assert set(foundation["resource"]["google_project_service_identity"]) == {"aiplatform_agent", "cloudbuild_agent"}
    assert foundation["output"]["keys"]["value"] == {}
    for stack in stacks_of("google-keys").values():
        assert "cryptoKeys" not in str(stack)


def test_pubsub_reaches_a_key_only_for_notifications(stacks_of: StacksOf) -> None:
    assert Granted("agent pubsub", "key storage", "roles/cloudkms.cryptoKeyEncrypterDecrypter") in grants(
        stacks_of("example")
    )
    assert "agent pubsub" not in {each.who for each in grants(stacks_of("quiet"))}


def test_keys_rotate_and_can_be_called_back(stacks_of: StacksOf) -> None:
    keys = resources(stacks_of("example")["foundation"], "google_kms_crypto_key")
    assert {each["name"] for each in keys.values()} == {"storage", "bigquery", "registry", "training"}
    for key in keys.values():
        assert (key["rotation_period"], key["destroy_scheduled_duration"]) == ("7776000s", "2592000s")


@pytest.mark.parametrize("service", ["storage", "bigquery", "aiplatform", "iam"])
def test_an_auditor_sees_who_wrote_what(stacks_of: StacksOf, service: str) -> None:
    logs = resources(stacks_of("example")["foundation"], "google_project_iam_audit_config")
    assert logs[f"{service}_audit_logs"]["service"] == f"{service}.googleapis.com"
    assert {"log_type": "DATA_WRITE"} in logs[f"{service}_audit_logs"]["audit_log_config"]
    assert "exempted_members" not in str(logs)


def test_the_control_plane_is_told_accounts_and_keys(stacks_of: StacksOf) -> None:
    output = stacks_of("example")["foundation"]["output"]
    assert set(output["accounts"]["value"]) == set(ROLES)
    assert set(output["keys"]["value"]) == {"storage", "bigquery", "registry", "training"}
