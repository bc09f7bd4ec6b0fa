"""`python -m infra.bootstrap --config FILE [--dry-run]`: make the bucket that Terraform keeps its state in, once.

Terraform cannot keep its state in a bucket that it has yet to create. The bucket must be able to give back a state that
was overwritten or deleted, and nobody outside the project may ever read it: a state may hold secrets.
"""

import argparse
import json
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.settings import Settings, settings
from overnight.config import load
from overnight.errors import OvernightError

SOFT_DELETE_DAYS = 30
"""How long a deleted state can be restored, versions included."""
KEPT_VERSIONS = 50
"""Earlier states of each stack: each apply writes one."""
RETRY_SECONDS = 30.0
"""How long an unreachable or overloaded service is asked again."""
LIFECYCLE: list[dict[str, Any]] = [
    {"action": {"type": "Delete"}, "condition": {"isLive": False, "numNewerVersions": KEPT_VERSIONS}}
]


class BootstrapError(OvernightError):
    """The state bucket cannot be made, or is not as it must be."""


@dataclass(frozen=True, kw_only=True)
class StateBucket:
    """The bucket as it is wanted, or as it was found."""

    name: str
    project: str
    """The project's number."""
    location: str
    uniform_access: bool
    public_access: str
    versioning: bool
    soft_delete_seconds: int
    lifecycle: list[dict[str, Any]]
    labels: dict[str, str]

    def request(self, project_id: str) -> dict[str, Any]:
        """The whole request that makes it: buckets.insert of Cloud Storage's JSON API."""
        return {
            "method": "POST",
            "path": "/storage/v1/b",
            "query": {"project": project_id, "prettyPrint": "false"},
            "body": {
                "name": self.name,
                "location": self.location,
                "iamConfiguration": {
                    "uniformBucketLevelAccess": {"enabled": self.uniform_access},
                    "publicAccessPrevention": self.public_access,
                },
                "versioning": {"enabled": self.versioning},
                # The client always sends both; the service sets the second.
                "softDeletePolicy": {"retentionDurationSeconds": self.soft_delete_seconds, "effectiveTime": None},
                "lifecycle": {"rule": self.lifecycle},
                "labels": self.labels,
            },
        }


def wanted(environment: Settings) -> StateBucket:
    """The bucket of `google.state`. Environments may share it: their prefixes differ, so it carries no label of one."""
    google = environment.google
    return StateBucket(
        name=google.state.bucket,
        project=google.project_number,
        location=google.region.upper(),
        uniform_access=True,
        public_access="enforced",
        versioning=True,
        soft_delete_seconds=SOFT_DELETE_DAYS * 24 * 3600,
        lifecycle=LIFECYCLE,
        labels={**google.labels, "managed_by": "overnight"},
    )


def check(found: StateBucket, wanted: StateBucket) -> None:
    """Raises BootstrapError naming the first setting of an existing bucket that does not do, and the command for it."""
    if found.project != wanted.project:
        raise BootstrapError(
            f"this bucket belongs to project number {found.project}, not {wanted.project}",
            where=f"gs://{wanted.name}",
            remedy="choose another name in google.state.bucket",
        )
    if found.location != wanted.location:
        raise BootstrapError(
            f"the bucket lies in {found.location}, not in {wanted.location}, and cannot be moved",
            where=f"gs://{wanted.name}",
            remedy="choose another name in google.state.bucket",
        )
    for says, differs, flag in _differences(found, wanted):
        if differs:
            command = f"gcloud storage buckets update gs://{wanted.name} {flag}"
            raise BootstrapError(says, where=f"gs://{wanted.name}", remedy=f"correct it with: {command}")


def _differences(found: StateBucket, wanted: StateBucket) -> list[tuple[str, bool, str]]:
    """What is said, whether it is so, and gcloud's flag against it."""
    days, seconds = SOFT_DELETE_DAYS, found.soft_delete_seconds
    missing = sorted(wanted.labels.keys() - found.labels.keys())
    labels = ",".join(f"{key}={wanted.labels[key]}" for key in missing)
    lifecycle = f"--lifecycle-file=<(echo '{json.dumps({'rule': wanted.lifecycle})}')"
    return [
        (
            "uniform bucket-level access is off",
            found.uniform_access != wanted.uniform_access,
            "--uniform-bucket-level-access",
        ),
        (
            f"public access prevention is {found.public_access!r}, not 'enforced'",
            found.public_access != wanted.public_access,
            "--public-access-prevention",
        ),
        ("versioning is off", found.versioning != wanted.versioning, "--versioning"),
        (
            f"soft delete keeps deleted objects for {seconds / 86400:g} days, fewer than {days}",
            seconds < wanted.soft_delete_seconds,
            f"--soft-delete-duration={days}d",
        ),
        (
            f"the lifecycle rules are not the one that keeps {KEPT_VERSIONS} earlier versions",
            found.lifecycle != wanted.lifecycle,
            lifecycle,
        ),
        (f"labels are missing: {', '.join(missing)}", bool(missing), f"--update-labels={labels}"),
    ]


def ensure(wanted: StateBucket, project_id: str) -> str:
    """Make the bucket, or hold the existing one against `wanted`; returns what to tell the user.

    Raises BootstrapError for missing credentials or permissions, a name that is taken, and wrong settings.
    """
    try:
        from google.api_core.exceptions import GoogleAPIError
        from google.auth.exceptions import GoogleAuthError
        from google.cloud.storage.retry import DEFAULT_RETRY
    except ImportError:
        raise BootstrapError("google-cloud-storage is not installed", remedy="pip install 'overnight[gcp]'") from None
    patience = DEFAULT_RETRY.with_timeout(RETRY_SECONDS)
    where = f"gs://{wanted.name}"
    try:
        client = _client(project_id)
        existing = client.lookup_bucket(wanted.name, retry=patience)
        if existing is None:
            _describe(client.bucket(wanted.name), wanted).create(location=wanted.location, retry=patience)
            return f"{where} is made in {wanted.location.lower()}"
    except GoogleAuthError as error:
        raise BootstrapError(
            f"there are no usable Google credentials ({_first_sentence(error)})",
            remedy="log in with: gcloud auth application-default login",
        ) from None
    except GoogleAPIError as error:
        raise _refused(error, where) from None
    check(_found(existing), wanted)
    return f"{where} exists and is as it must be"


def _refused(error: Exception, where: str) -> BootstrapError:
    from google.api_core.exceptions import Conflict, Forbidden

    if isinstance(error, Conflict):
        return BootstrapError(
            "this bucket name is taken by someone else", where=where, remedy="choose another in google.state.bucket"
        )
    if isinstance(error, Forbidden):
        return BootstrapError(
            f"the bucket is someone else's, or this account may neither read nor make it ({_first_sentence(error)})",
            where=where,
            remedy="choose another name in google.state.bucket, or ask for roles/storage.admin on the project",
        )
    return BootstrapError(f"Cloud Storage refused ({_first_sentence(error)})", where=where)


def _first_sentence(error: Exception) -> str:
    return " ".join(str(error).split()).split(". ")[0].rstrip(".")


def _client(project_id: str) -> Any:
    import google.cloud.storage

    # Otherwise the client also asks for the bucket in a background thread, to label traces that nobody collects.
    os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")
    return google.cloud.storage.Client(project=project_id)


def _describe(bucket: Any, wanted: StateBucket) -> Any:
    """The client's bucket with what `wanted.request` says."""
    bucket.iam_configuration.uniform_bucket_level_access_enabled = wanted.uniform_access
    bucket.iam_configuration.public_access_prevention = wanted.public_access
    bucket.versioning_enabled = wanted.versioning
    bucket.soft_delete_policy.retention_duration_seconds = wanted.soft_delete_seconds
    bucket.lifecycle_rules = wanted.lifecycle
    bucket.labels = wanted.labels
    return bucket


def _found(bucket: Any) -> StateBucket:
    return StateBucket(
        name=bucket.name,
        project=str(bucket.project_number),
        location=bucket.location,
        uniform_access=bucket.iam_configuration.uniform_bucket_level_access_enabled,
        public_access=bucket.iam_configuration.public_access_prevention or "inherited",
        versioning=bucket.versioning_enabled,
        soft_delete_seconds=bucket.soft_delete_policy.retention_duration_seconds or 0,
        lifecycle=[dict(rule) for rule in bucket.lifecycle_rules],
        labels=bucket.labels,
    )


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0, or 2 with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python -m infra.bootstrap", description="Make Terraform's state bucket.")
    parser.add_argument("--config", type=Path, required=True, help="the environment file")
    parser.add_argument("--dry-run", action="store_true", help="print the request that would be sent, as JSON")
    options = parser.parse_args(arguments)
    try:
        environment = settings(load(options.config), options.config, today=datetime.now(UTC).date())
        bucket, project_id = wanted(environment), environment.google.project_id
        if options.dry_run:
            print(json.dumps(bucket.request(project_id), indent=2))
        else:
            print(f"bootstrap: {ensure(bucket, project_id)}")
    except OvernightError as error:
        print(f"bootstrap: {error.sentence}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
