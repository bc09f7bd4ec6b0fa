"""What the service and a trigger would tell a build, with this machine's values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from overnight.builds.errors import BuildError
from overnight.builds.workspace import Checkout
from overnight.images.local import LOCAL_REGISTRY, LOCAL_REPOSITORY

PROJECT = "local"
BUILDER_IMAGE = f"builder@sha256:{'0' * 64}"
"""No image has this digest: steps are processes of this machine, whatever image they name."""


@dataclass(frozen=True, kw_only=True)
class Revision:
    """What a build is of."""

    checkout: Checkout
    content: str
    """SHA-256 of the copied files, 64 hex digits."""

    @property
    def commit(self) -> str:
        """HEAD of a clean checkout; else the content's own id, whose length tells that no commit is meant.

        Tags, labels and releases take a whole id. HEAD would be wrong: what is built is not what it holds.
        """
        return self.content if self.checkout.dirty or self.checkout.commit is None else self.checkout.commit

    @property
    def note(self) -> str | None:
        """What to tell about a source that no commit holds."""
        if self.checkout.commit is None:
            return f"No commit holds this folder: images are tagged by its content, {self.content[:12]}…"
        if self.checkout.dirty:
            return (
                f"The checkout differs from its commit {self.checkout.commit[:12]}: images are tagged by its content, "
                f"{self.content[:12]}…, and not attested"
            )
        return None


def given(revision: Revision, root: Path, registry: str, build_id: str, file: str) -> dict[str, str]:
    """Built-in substitutions and those of the triggers; base images are for the caller to add."""
    checkout, commit = revision.checkout, revision.commit
    repository = checkout.source.rpartition("/")[2]
    return {
        "PROJECT_ID": PROJECT,
        "PROJECT_NUMBER": "0",
        "BUILD_ID": build_id,
        "LOCATION": "local",
        "TRIGGER_NAME": "local",
        "TRIGGER_BUILD_CONFIG_PATH": file,
        "SERVICE_ACCOUNT": "",
        "SERVICE_ACCOUNT_EMAIL": "",
        "COMMIT_SHA": commit,
        "REVISION_ID": commit,
        "SHORT_SHA": commit[:7],
        "REPO_NAME": repository,
        "REPO_FULL_NAME": checkout.source.split("/", 3)[-1],
        "BRANCH_NAME": checkout.branch,
        "TAG_NAME": "",
        "REF_NAME": checkout.branch,
        "_ENVIRONMENT": "local",
        "_CONFIG": "config/local.yaml",
        "_REGION": "local",
        "_BUILDER_IMAGE": f"{registry}/{BUILDER_IMAGE}",
        "_POOL": "",
        "_REPOSITORY": f"{registry}/{LOCAL_REPOSITORY.removeprefix(f'{LOCAL_REGISTRY}/')}",
        "_CACHE_REPOSITORY": f"{registry}/overnight-cache",
        "_PIPELINES_REPOSITORY": str(root / "pipelines"),
        "_LOGS_BUCKET": "local-logs",
        "_RELEASES": str(root / "releases"),
        "_SOURCE": checkout.source,
    }


def parse_overrides(written: Sequence[str]) -> dict[str, str]:
    """`_KEY=VALUE` of the command line. Raises BuildError."""
    found = {}
    for text in written:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise BuildError(
                f"{text!r} is not _KEY=VALUE", where="--substitution", remedy="write it like _REGION=local"
            )
        if key in found:
            raise BuildError(f"{key} is given twice", where="--substitution", remedy="keep one")
        found[key] = value
    return found


def check_overrides(overrides: Mapping[str, str], known: Mapping[str, str], declared: Mapping[str, str]) -> None:
    """Raise BuildError for a substitution that neither the file declares nor a trigger passes."""
    for key in overrides:
        if not key.startswith("_"):
            raise BuildError(
                f"{key} is set by the service, and a user's own substitutions begin with _", where="--substitution"
            )
        if key not in known and key not in declared:
            names = ", ".join(sorted({*(name for name in known if name.startswith("_")), *declared}))
            raise BuildError(f"there is no substitution {key}", where="--substitution", remedy=f"give one of: {names}")
