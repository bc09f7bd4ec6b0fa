"""Who is granted what in synthesized stacks, in the words of docs/infra-iam.md."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

Stacks = Mapping[str, dict[str, Any]]
"""Each stack's Terraform JSON by name."""

PLACES = {
    "google_project_iam_member": ("the project", None),
    "google_service_account_iam_member": ("account", "service_account_id"),
    "google_storage_bucket_iam_member": ("bucket", "bucket"),
    "google_artifact_registry_repository_iam_member": ("repository", "repository"),
    "google_bigquery_dataset_iam_member": ("dataset", "dataset_id"),
    "google_kms_crypto_key_iam_member": ("key", "crypto_key_id"),
    "google_kms_key_ring_iam_member": ("key ring", None),
    "google_pubsub_subscription_iam_member": ("subscription", "subscription"),
    "google_secret_manager_secret_iam_member": ("secret", "secret_id"),
}
"""Every kind of grant: what it is on, and the attribute that says on which."""


class Granted(NamedTuple):
    """One role of one holder on one thing."""

    who: str
    """`deploy`, `agent aiplatform`, or the member as it stands."""
    on: str
    role: str


def grants(stacks: Stacks) -> set[Granted]:
    """All of them; fails on a kind of grant that is not in the table."""
    return {
        Granted(
            holder(values["member"]),
            place(kind, values),
            values["role"].replace("projects/acme-vision-prod", "projects/PROJECT"),
        )
        for kind, values in members(stacks)
    }


def members(stacks: Stacks) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each grant's resource type and attributes."""
    for stack in stacks.values():
        for kind, resources in stack["resource"].items():
            if "_iam_" in kind and kind not in ("google_project_iam_custom_role", "google_project_iam_audit_config"):
                yield from ((kind, values) for values in resources.values())


def holder(member: str) -> str:
    """The account's role, the agent's service, or the member itself."""
    if found := re.search(r"google_service_account\.(\w+)_account|:example-(\w+)@", member):
        return found[1] or found[2]
    if found := re.search(r"@gcp-sa-([a-z-]+)\.|data\.google_\w+\.(\w+)_agent", member):
        return f"agent {found[1] or found[2]}"
    return member


def place(kind: str, values: Mapping[str, Any]) -> str:
    """`the project`, `bucket shards`, `account training`; with a condition's title in brackets."""
    what, attribute = PLACES[kind]
    where = what if attribute is None else f"{what} {short(values[attribute])}"
    return f"{where} ({values['condition']['title']})" if "condition" in values else where


def short(name: str) -> str:
    """`shards` of a reference to `shards_bucket` and of the name `acme-vision-prod-example-shards`."""
    if found := re.search(r"\$\{google_\w+\.([a-z0-9_]+)_[a-z]+\.", name):
        return found[1]
    if name.endswith("-terraform-state"):
        return "state"
    return name.removeprefix("acme-vision-prod-example-")


def documented(page: Path) -> set[Granted]:
    """The rows `on | role | why` of the page's tables, each under a heading that names the holder.

    A row may name several things and several roles, with commas between: each role is then granted on each thing.
    """
    found, who = set(), ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"### `(.+)`", line):
            who = heading[1]
        elif row := re.match(r"\| ([^|]+) \| (`[^|]+`) \| [^|]+ \|$", line):
            roles = re.findall(r"`([^`]+)`", row[2])
            found |= {Granted(who, on, role) for on in row[1].split(", ") for role in roles}
    return found
