"""Who may do what: one member of one role on one thing. Nothing here replaces grants that others have made."""

from collections.abc import Iterable, Sequence
from typing import Any

from infra import cdk
from infra.constructs.stack import Stack

READS = "roles/storage.objectViewer"
ADDS = "roles/storage.objectCreator"
"""May neither read nor replace nor delete."""
WRITES = "roles/storage.objectUser"
"""Everything with objects, nothing with the bucket or its access."""
OPENS = "roles/storage.legacyBucketReader"
"""The bucket's own metadata, which clients that mount it or use it as pipeline root ask for (vertex-facts 4)."""

MOST_ROLES = 10
"""IAM refuses `hasOnly` with a longer list (docs: "Lint IAM conditions", HasOnlyListLengthCheck)."""


def on_project(
    stack: Stack, sentence: str, role: str, member: str, *, depends_on: Iterable[Any] = (), condition: Any = None
) -> Any:
    """Only where nothing narrower exists."""
    return cdk.ProjectIamMember(
        stack,
        sentence,
        project=stack.google.project_id,
        role=role,
        member=member,
        condition=condition,
        depends_on=list(depends_on),
    )


def on_account(stack: Stack, sentence: str, role: str, member: str, account: Any) -> Any:
    """On one service account: who may run things as it, or change it."""
    return cdk.ServiceAccountIamMember(stack, sentence, service_account_id=account.name, role=role, member=member)


def on_key(stack: Stack, sentence: str, member: str, key: Any, *, depends_on: Iterable[Any] = ()) -> Any:
    """Encrypt and decrypt with one key."""
    return cdk.KmsCryptoKeyIamMember(
        stack,
        sentence,
        crypto_key_id=key.id,
        role="roles/cloudkms.cryptoKeyEncrypterDecrypter",
        member=member,
        depends_on=list(depends_on),
    )


def on_bucket(
    stack: Stack,
    sentence: str,
    role: str,
    member: str,
    bucket: str,
    *,
    condition: Any = None,
    depends_on: Iterable[Any] = (),
) -> Any:
    """On one bucket, by name."""
    return cdk.StorageBucketIamMember(
        stack, sentence, bucket=bucket, role=role, member=member, condition=condition, depends_on=list(depends_on)
    )


def on_repository(stack: Stack, sentence: str, role: str, member: str, repository: Any) -> Any:
    """On one Artifact Registry repository."""
    return cdk.ArtifactRegistryRepositoryIamMember(
        stack,
        sentence,
        project=stack.google.project_id,
        location=stack.google.region,
        repository=repository.name,
        role=role,
        member=member,
    )


def on_dataset(stack: Stack, sentence: str, role: str, member: str, dataset: Any) -> Any:
    """On one BigQuery dataset."""
    return cdk.BigqueryDatasetIamMember(
        stack,
        sentence,
        project=stack.google.project_id,
        dataset_id=dataset.dataset_id,
        role=role,
        member=member,
    )


def under(bucket: str, prefix: str, title: str) -> Any:
    """Only objects whose names begin with `prefix`."""
    place = f"projects/_/buckets/{bucket}/objects/{prefix}"
    return cdk.StorageBucketIamMemberCondition(title=title, expression=f'resource.name.startsWith("{place}")')


def listed_or_under(bucket: str, prefix: str, title: str) -> Any:
    """As `under`, and the bucket may be listed: a request to list has the bucket as its resource, not an object."""
    place = f"projects/_/buckets/{bucket}/objects/{prefix}"
    return cdk.StorageBucketIamMemberCondition(
        title=title,
        expression=f'resource.type == "storage.googleapis.com/Bucket" || resource.name.startsWith("{place}")',
    )


def grants_only(roles: Sequence[str], title: str) -> Any:
    """The holder of a role that changes the project's policy may change members of these roles and of no others.

    Each request must keep within one of the groups of ten, so the provider must not batch several members into one.
    """
    groups = [roles[first : first + MOST_ROLES] for first in range(0, len(roles), MOST_ROLES)]
    modified = "api.getAttribute('iam.googleapis.com/modifiedGrantsByRole', [])"
    lists = (", ".join(f"'{role}'" for role in group) for group in groups)
    return cdk.ProjectIamMemberCondition(
        title=title, expression=" || ".join(f"{modified}.hasOnly([{list_}])" for list_ in lists)
    )
