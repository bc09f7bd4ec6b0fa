"""Buckets: one region, no public access, no object-level access lists, and rules for what goes when."""

from collections.abc import Sequence
from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.names import Purpose

SECONDS_PER_DAY = 86_400
UPLOAD_DAYS = 7
"""A multipart upload that is not finished by then never will be; its parts are billed and seen by nobody."""


def add_bucket(
    stack: Stack,
    purpose: Purpose,
    *,
    rules: Sequence[Any] = (),
    versioned: bool = False,
    soft_deleted: bool = True,
    access_logs: Any = None,
) -> Any:
    """The bucket of one purpose, with `rules` beside the one for unfinished uploads.

    No Autoclass: it charges for each object it watches, a shard set is read many times until it is not read at all,
    and originals have one known moment when they turn cold.
    """
    cmek = stack.google.cmek.enabled
    soft_delete_days = stack.google.storage.soft_delete_days if soft_deleted else 0
    return cdk.StorageBucket(
        stack,
        f"{purpose}_bucket",
        project=stack.google.project_id,
        name=stack.names.bucket(purpose),
        location=stack.google.region,
        storage_class="STANDARD",
        uniform_bucket_level_access=True,
        public_access_prevention="enforced",
        force_destroy=False,
        versioning=cdk.StorageBucketVersioning(enabled=versioned),
        soft_delete_policy=cdk.StorageBucketSoftDeletePolicy(
            retention_duration_seconds=soft_delete_days * SECONDS_PER_DAY
        ),
        lifecycle_rule=[*rules, _abandoned_uploads()],
        encryption=cdk.StorageBucketEncryption(default_kms_key_name=stack.names.key("storage")) if cmek else None,
        logging=access_logs and cdk.StorageBucketLogging(log_bucket=access_logs.name, log_object_prefix=purpose),
        labels=stack.labels,
        lifecycle=stack.kept,
    )


def deleted_after(days: int) -> Any:
    """Objects go this many days after they were written."""
    return _rule("Delete", cdk.StorageBucketLifecycleRuleCondition(age=days))


def versions_deleted_after(days: int) -> Any:
    """Versions go this many days after they were replaced or deleted.

    By time alone: a limit by count would break that promise for a file replaced often on one day, and would keep the
    only version of a deleted one for ever.
    """
    return _rule("Delete", cdk.StorageBucketLifecycleRuleCondition(days_since_noncurrent_time=days))


def nearline_after(days: int) -> Any:
    """Objects become cheaper to keep and dearer to read this many days after they were written."""
    return _rule(
        "SetStorageClass",
        cdk.StorageBucketLifecycleRuleCondition(age=days, matches_storage_class=["STANDARD"]),
        storage_class="NEARLINE",
    )


def _abandoned_uploads() -> Any:
    return _rule("AbortIncompleteMultipartUpload", cdk.StorageBucketLifecycleRuleCondition(age=UPLOAD_DAYS))


def _rule(action: str, condition: Any, storage_class: str | None = None) -> Any:
    return cdk.StorageBucketLifecycleRule(
        action=cdk.StorageBucketLifecycleRuleAction(type=action, storage_class=storage_class), condition=condition
    )
