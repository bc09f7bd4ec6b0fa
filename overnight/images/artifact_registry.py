"""Tags and digests through Artifact Registry's own API, which needs no pull and says what it knows of an image."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from overnight.images.errors import ImageError
from overnight.images.reference import GoogleName, Reference
from overnight.images.reference_parts import DIGEST
from overnight.images.registry_errors import Denied, NotFound, tag_is_missing

RETRY_SECONDS = 20.0
"""How long a service that is unavailable is asked again."""
CALL_SECONDS = 20.0
"""The longest one call may take."""
MOST_TAGS = 200


class NoCredentials(ImageError):
    """The API takes nobody without credentials; the registry itself may."""


@dataclass(frozen=True)
class Version:
    """What Artifact Registry says of a digest."""

    digest: str
    media_type: str | None
    """None where its metadata does not say."""


class ArtifactRegistry:
    """The API over gRPC. All methods raise ImageError, in one sentence."""

    def __init__(self, client: Any = None, *, retry_seconds: float = RETRY_SECONDS) -> None:
        """`client`: an `artifactregistry_v1.ArtifactRegistryClient`; Google's service when None."""
        self._client = client or connect()
        self._retry_seconds = retry_seconds

    def tagged(self, reference: Reference) -> str:
        """The digest that the reference's tag points to now."""
        name, where = _google_name(reference), reference.repository
        request = {"name": f"{_package(name)}/tags/{reference.tag}"}
        tag = self._call(self._client.get_tag, request, where, lambda: self._missing(name, reference))
        digest = str(tag.version).rpartition("/versions/")[2]
        if not DIGEST.fullmatch(digest):
            problem = f"the tag {reference.tag!r} points to {str(tag.version)!r:.200}, which is no image's digest"
            raise ImageError(problem, where=where, remedy="check that the repository is of the format Docker")
        return digest

    def version(self, reference: Reference, digest: str) -> Version:
        """What there is under `digest`; raises NotFound when there is nothing."""
        from google.cloud import artifactregistry_v1 as v1

        name, where = _google_name(reference), reference.repository
        request = {"name": f"{_package(name)}/versions/{digest}", "view": v1.VersionView.FULL}

        def missing() -> ImageError:
            remedy = "check the digest, and that it is of this repository"
            return self._absent(name, where) or NotFound(
                f"no image with the digest {digest} is there", where=where, remedy=remedy
            )

        found = self._call(self._client.get_version, request, where, missing)
        media_type = found.metadata.get("mediaType") if found.metadata else None
        return Version(digest, media_type if isinstance(media_type, str) and media_type else None)

    def _missing(self, name: GoogleName, reference: Reference) -> ImageError:
        """Why a tag is not found: because of the repository, the image, or the tag."""
        where = reference.repository
        request = {"parent": _package(name), "page_size": MOST_TAGS}
        listed = self._call(
            self._client.list_tags, request, where, lambda: self._absent(name, where) or _no_image(name, where)
        )
        tags = [found.name.rpartition("/tags/")[2] for found in listed.tags]  # one page: many are not told anyway
        return tag_is_missing(reference.host, reference.path, str(reference.tag), tags)

    def _absent(self, name: GoogleName, where: str) -> ImageError | None:
        """The sentence about a repository or an image that is not there; None when both are."""
        repository = _repository(name)
        nothing = NotFound(
            f"there is no repository {name.repository!r} in {name.location} of project {name.project!r}",
            where=where,
            remedy="check the name, or provision it with the stacks in infra/",
        )
        try:
            self._call(self._client.get_repository, {"name": repository}, where, lambda: nothing)
            self._call(self._client.get_package, {"name": _package(name)}, where, lambda: _no_image(name, where))
        except NotFound as error:
            return error
        except ImageError:  # who may read tags may not always read these: the first answer stands
            return None
        return None

    def _call(self, method: Any, request: dict[str, Any], where: str, missing: Callable[[], ImageError]) -> Any:
        """One call, tried again while the service is unavailable; raises ImageError."""
        from google.api_core import exceptions, retry
        from google.auth.exceptions import GoogleAuthError

        passing = retry.if_exception_type(exceptions.ServiceUnavailable, exceptions.TooManyRequests)
        again = retry.Retry(predicate=passing, initial=0.2, maximum=5.0, timeout=self._retry_seconds)
        try:
            return method(request=request, retry=again, timeout=CALL_SECONDS)
        except exceptions.NotFound:
            failure = missing()
        except exceptions.GoogleAPIError as error:
            failure = _failure(error, where)
        except GoogleAuthError as error:
            failure = _no_credentials(error, where)
        raise failure


def connect(address: str = "", *, encrypted: bool = True) -> Any:
    """An `ArtifactRegistryClient` over gRPC: Google's, or one at HOST:PORT; raises NoCredentials.

    gRPC, because REST escapes the names of nested images a second time (measured, client 1.23).
    """
    import grpc
    from google.auth.credentials import AnonymousCredentials
    from google.auth.exceptions import GoogleAuthError

    try:
        from google.cloud import artifactregistry_v1 as v1
    except ImportError:
        problem = "google-cloud-artifact-registry is not installed"
        raise ImageError(problem, remedy="pip install 'overnight[gcp]'") from None
    if not encrypted:
        anonymous: Any = AnonymousCredentials
        transport: Any = v1.ArtifactRegistryClient.get_transport_class("grpc")
        return v1.ArtifactRegistryClient(
            transport=transport(channel=grpc.insecure_channel(address), credentials=anonymous())
        )
    try:
        return v1.ArtifactRegistryClient(client_options={"api_endpoint": address} if address else None)
    except GoogleAuthError as error:
        raise _no_credentials(error, "Artifact Registry") from None


def _google_name(reference: Reference) -> GoogleName:
    name = reference.google
    if name is None:
        raise ImageError("this is no image in Artifact Registry", where=str(reference))
    return name


def _repository(name: GoogleName) -> str:
    return f"projects/{name.project}/locations/{name.location}/repositories/{name.repository}"


def _package(name: GoogleName) -> str:
    """A nested image is one package: its slashes are escaped."""
    return f"{_repository(name)}/packages/{quote(name.package, safe='')}"


def _no_image(name: GoogleName, where: str) -> NotFound:
    problem = f"the repository {name.repository!r} has no image {name.package!r}"
    return NotFound(problem, where=where, remedy="check the name, or push the image first")


def _failure(error: Exception, where: str) -> ImageError:
    """The sentence for what the service answers, other than not found."""
    from google.api_core import exceptions

    said = _one_line(getattr(error, "message", None) or str(error))
    if isinstance(error, exceptions.PermissionDenied):
        if "SERVICE_DISABLED" in str(error) or "has not been used in project" in said:
            return Denied(
                "Artifact Registry is not enabled in the project",
                where=where,
                remedy="run `gcloud services enable artifactregistry.googleapis.com`",
            )
        remedy = "grant roles/artifactregistry.reader on the repository"
        return Denied(f"Artifact Registry denies this ({said})", where=where, remedy=remedy)
    if isinstance(error, exceptions.Unauthenticated):
        remedy = "run `gcloud auth application-default login`"
        return Denied(f"Artifact Registry does not accept the credentials ({said})", where=where, remedy=remedy)
    if isinstance(error, (exceptions.RetryError, exceptions.ServiceUnavailable, exceptions.DeadlineExceeded)):
        cause = _one_line(str(error.cause)) if isinstance(error, exceptions.RetryError) else said
        return ImageError(f"Artifact Registry does not answer ({cause})", where=where, remedy="try again later")
    if isinstance(error, exceptions.TooManyRequests):
        problem = f"Artifact Registry takes no more requests for now ({said})"
        return ImageError(problem, where=where, remedy="wait and try again")
    return ImageError(f"Artifact Registry refuses this ({said})", where=where, remedy="check the name")


def _no_credentials(error: Exception, where: str) -> NoCredentials:
    said = _one_line(str(error.args[0] if error.args else error))
    remedy = "run `gcloud auth application-default login`"
    return NoCredentials(f"there are no credentials ({said})", where=where, remedy=remedy)


def _one_line(text: str) -> str:
    """A message of a service within a sentence."""
    return re.sub(r"\s+", " ", text).strip()[:200].rstrip(".; ")
