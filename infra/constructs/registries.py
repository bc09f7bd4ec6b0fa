"""Artifact Registry repositories, and what is cleaned out of them."""

from collections.abc import Sequence
from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.names import Repository

SECONDS_PER_DAY = 86_400


def add_repository(
    stack: Stack,
    purpose: Repository,
    format_: str,
    description: str,
    *,
    cleanup: Sequence[Any] = (),
    immutable_tags: bool | None = None,
    scanned: bool | None = None,
) -> Any:
    """A standard repository in the region; the last two are for Docker repositories only.

    Scanning takes place once the project's Container Scanning API is on; it is billed for each image digest.
    """
    scanning = None
    if scanned is not None:
        scanning = cdk.ArtifactRegistryRepositoryVulnerabilityScanningConfig(
            enablement_config="INHERITED" if scanned else "DISABLED"
        )
    docker = None
    if immutable_tags is not None:
        docker = cdk.ArtifactRegistryRepositoryDockerConfig(immutable_tags=immutable_tags)
    return cdk.ArtifactRegistryRepository(
        stack,
        f"{purpose}_repository",
        project=stack.google.project_id,
        location=stack.google.region,
        repository_id=stack.names.repository(purpose),
        format=format_,
        description=description,
        docker_config=docker,
        cleanup_policies=list(cleanup),
        cleanup_policy_dry_run=False if cleanup else None,
        vulnerability_scanning_config=scanning,
        kms_key_name=stack.names.key("registry") if stack.google.cmek.enabled else None,
        labels=stack.labels,
        lifecycle=stack.kept,
    )


def newest_stay(count: int) -> Any:
    """KEEP wins over every DELETE (vertex-facts 5)."""
    return cdk.ArtifactRegistryRepositoryCleanupPolicies(
        id="newest-stay",
        action="KEEP",
        most_recent_versions=cdk.ArtifactRegistryRepositoryCleanupPoliciesMostRecentVersions(keep_count=count),
    )


def untagged_go(days: int) -> Any:
    """Never one with a tag: a release is tagged by its commit, and job specs and model records name its digest."""
    return _old_go("untagged-go", "UNTAGGED", days)


def all_go(days: int) -> Any:
    """What can be made again at any time."""
    return _old_go("all-go", "ANY", days)


def _old_go(name: str, tag_state: str, days: int) -> Any:
    return cdk.ArtifactRegistryRepositoryCleanupPolicies(
        id=name,
        action="DELETE",
        condition=cdk.ArtifactRegistryRepositoryCleanupPoliciesCondition(
            tag_state=tag_state, older_than=f"{days * SECONDS_PER_DAY}s"
        ),
    )
