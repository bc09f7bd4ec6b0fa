"""What made an image: an in-toto statement with a SLSA provenance predicate, as we write it.

Formats: in-toto Statement v1 (github.com/in-toto/attestation, spec/v1), SLSA provenance v1 (slsa.dev/provenance/v1).
Reading them, and Cloud Build's older forms, is `overnight.images.statement`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from overnight.files import canonical_json
from overnight.images.errors import ImageError
from overnight.images.reference import Reference, parse_pinned
from overnight.images.source_address import parse_commit, parse_source

STATEMENT_V1 = "https://in-toto.io/Statement/v1"
SLSA_V1 = "https://slsa.dev/provenance/v1"
LOCAL_BUILDER = "https://overnight.dev/local-builder/v1"
"""builder.id of builds that ran Cloud Build's steps on one's own machine."""
CLOUD_BUILDER = "https://cloudbuild.googleapis.com/GoogleHostedWorker"
"""builder.id of Cloud Build (docs.cloud.google.com/build/gcb-buildtypes/google-worker/v1)."""
LOCAL_BUILD_TYPE = "https://overnight.dev/cloud-build-file/v1"
"""How to read externalParameters of ours: docs/images.md."""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What one statement says; only `write` needs the fields after `signed_by`."""

    subject_digest: str
    """`sha256:…` of the image's manifest."""
    source: str | None
    """The repository in normal form (`source_address.normal_source`); None where the statement names none."""
    commit: str | None
    """The whole commit id."""
    builder: str
    build_id: str | None = None
    predicate_type: str = SLSA_V1
    signed_by: tuple[str, ...] = ()
    """Ids of the keys whose signatures were found valid; of an unsigned statement none."""
    build_type: str = LOCAL_BUILD_TYPE
    config: str | None = None
    """The build file's path in the repository."""
    substitutions: Mapping[str, str] = field(default_factory=dict, hash=False)
    base_images: tuple[str, ...] = ()
    """References by digest."""


@dataclass(frozen=True)
class Expected:
    """What a statement must say to be accepted; None accepts anything."""

    source: str | None = None
    builder: str | None = None
    commit: str | None = None


@dataclass(frozen=True)
class Evidence:
    """One statement that somebody made about an image, and whether it may be believed."""

    trusted: bool
    trust: str
    """A sentence about who made it: why it is believed, or why not."""
    provenance: Provenance | None
    """What it says; None where that cannot be read."""
    problem: str = ""
    """Why it cannot be read."""


class ProvenanceSource(Protocol):
    """A place where statements about images are kept."""

    @property
    def name(self) -> str:
        """For tables and sentences."""

    @property
    def absent(self) -> str:
        """What to say, and to do, when there is no statement."""

    def find(self, reference: Reference) -> list[Evidence]:
        """All statements about the image with the reference's digest; raises ImageError when it cannot be asked."""


@dataclass(frozen=True)
class Unavailable:
    """A source that cannot be asked, and why; see ProvenanceSource."""

    name: str
    error: ImageError
    absent: str = ""

    def find(self, reference: Reference) -> list[Evidence]:
        """Raises the error."""
        raise self.error


def write(provenance: Provenance, image: Reference) -> bytes:
    """The statement about `image`, the same bytes for the same provenance.

    Raises ImageError when source, commit or a base image is not written in full.
    """
    if provenance.source is None or provenance.commit is None:
        raise ImageError("provenance without source and commit says nothing", where=str(image))
    source = parse_source(provenance.source, "source")
    commit = parse_commit(provenance.commit, "commit")
    external: dict[str, Any] = {"source": source, "commit": commit, "substitutions": dict(provenance.substitutions)}
    if provenance.config is not None:
        external["config"] = provenance.config
    metadata = {} if provenance.build_id is None else {"metadata": {"invocationId": provenance.build_id}}
    return canonical_json(
        {
            "_type": STATEMENT_V1,
            "subject": [{"name": image.repository, "digest": _digest(provenance.subject_digest)}],
            "predicateType": SLSA_V1,
            "predicate": {
                "buildDefinition": {
                    "buildType": provenance.build_type,
                    "externalParameters": external,
                    "resolvedDependencies": [
                        {"uri": f"git+{source}@{commit}", "digest": {"gitCommit": commit}},
                        *(_base(text) for text in sorted(set(provenance.base_images))),
                    ],
                },
                "runDetails": {"builder": {"id": provenance.builder}, **metadata},
            },
        }
    )


def _base(text: str) -> dict[str, Any]:
    """A base image as Cloud Build writes it: HOST/PATH@sha256:…, and the digest beside it."""
    reference = parse_pinned(text, "base image")
    return {"uri": str(reference), "digest": _digest(reference.digest or "")}


def _digest(digest: str) -> dict[str, str]:
    algorithm, _, value = digest.partition(":")
    return {algorithm: value}
