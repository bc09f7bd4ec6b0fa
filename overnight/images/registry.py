"""A container registry over the OCI distribution API; what it serves is checked against the digest asked for."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from overnight.images.credentials import Credentials, NoCredentials, credentials_for
from overnight.images.errors import ImageError
from overnight.images.local import is_loopback
from overnight.images.manifest import LARGEST, MEDIA_TYPES, OCI_INDEX, Descriptor, Manifest, digest_of, parse_manifest
from overnight.images.reference import Reference
from overnight.images.reference_parts import DIGEST
from overnight.images.registry_errors import (
    Answer,
    Denied,
    NotFound,
    digest_differs,
    digest_is_missing,
    header_differs,
    refused,
    repository_is_missing,
    tag_is_missing,
)
from overnight.images.registry_http import Ask, Connection, StreamRefused

if TYPE_CHECKING:
    import requests

__all__ = ["Denied", "NotFound", "Registry", "registry_for"]

ACCEPT = ", ".join(MEDIA_TYPES)
"""All four: a registry hides an index from a client that does not name its type (measured, docker-registry 2.8.2)."""
BLOB_TYPE = "application/octet-stream"
LARGEST_BLOB = 64 * 2**20
"""Bytes that `blob` keeps in memory; layers are streamed."""
MOST_PAGES = 100


class Registry:
    """One registry host. All methods raise ImageError, in one sentence."""

    def __init__(
        self,
        host: str,
        session: "requests.Session | None" = None,
        credentials: Credentials | None = None,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.host = host
        self._connection = Connection(host, session, credentials or NoCredentials(), sleep)

    def manifest(self, path: str, reference: str) -> Manifest:
        """What `reference`, a tag or a digest, names; its bytes agree with the header and with the digest."""
        answer = self._connection.ask(self._ask("GET", path, "manifests", reference, Accept=ACCEPT), limit=LARGEST)
        if answer.status_code != 200:
            raise self._missing(path, reference, answer)
        where = _named(self.host, path, reference)
        _check_digest(where, reference, answer, digest_of(answer.body))
        return parse_manifest(answer.body, answer.headers.get("Content-Type"), where=where)

    def exists(self, path: str, reference: str) -> bool:
        """Whether the registry has the tag or digest."""
        answer = self._connection.ask(self._ask("HEAD", path, "manifests", reference, Accept=ACCEPT))
        if answer.status_code not in (200, 404):
            raise refused(self.host, path, answer, "looking up a manifest")
        return answer.status_code == 200

    def tags(self, path: str) -> list[str]:
        """The repository's tags; raises NotFound when there is no such repository."""
        tags: list[str] = []
        for answer in self._pages(self._ask("GET", path, "tags", "list")):
            if answer.status_code == 404:
                raise repository_is_missing(self.host, path)
            if answer.status_code != 200:
                raise refused(self.host, path, answer, "listing tags")
            named = _json(answer, f"{self.host}/{path}").get("tags") or []
            tags += [tag for tag in named if isinstance(tag, str)] if isinstance(named, list) else []
        return tags

    def blob(self, path: str, digest: str) -> bytes:
        """A small blob, whole: a configuration, an attestation."""
        data = bytearray()
        for piece in self.stream(path, digest):
            data += piece
            if len(data) > LARGEST_BLOB:
                problem = f"the blob is larger than {LARGEST_BLOB:,} bytes"
                raise ImageError(problem, where=_named(self.host, path, digest), remedy="name a smaller one")
        return bytes(data)

    def stream(self, path: str, digest: str) -> Iterator[bytes]:
        """A blob in pieces; the error about wrong bytes comes after the last piece, so use none before the end."""
        where = _named(self.host, path, digest)
        hasher = hashlib.sha256()
        try:
            for piece in self._connection.stream(self._ask("GET", path, "blobs", digest)):
                hasher.update(piece)
                yield piece
        except StreamRefused as error:
            raise self._blob_refused(path, digest, error.answer) from None
        served = f"sha256:{hasher.hexdigest()}"
        if served != digest:
            raise digest_differs(where, digest, served)

    def blob_size(self, path: str, digest: str) -> int | None:
        """Bytes of a blob, None when the registry does not have it or does not say."""
        answer = self._connection.ask(self._ask("HEAD", path, "blobs", digest))
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            raise refused(self.host, path, answer, "looking up a blob")
        size = str(answer.headers.get("Content-Length", ""))
        return int(size) if size.isascii() and size.isdecimal() else None

    def put_blob(self, path: str, data: bytes) -> Descriptor:
        """Upload `data` unless it is there; the descriptor's media type is for the caller to replace."""
        descriptor = Descriptor(BLOB_TYPE, digest_of(data), len(data))
        if self.blob_size(path, descriptor.digest) == len(data):
            return descriptor
        start = self._connection.ask(self._ask("POST", path, "blobs", "uploads/", push=True))
        if start.status_code != 202 or not start.headers.get("Location"):
            raise self._put_refused(path, start, "beginning an upload")
        url = self._connection.absolute(start.headers["Location"])
        url += f"{'&' if '?' in url else '?'}digest={quote(descriptor.digest)}"
        ask = Ask("PUT", url, _api_path(self.host, path), {"Content-Type": BLOB_TYPE}, data, push=True)
        end = self._connection.ask(ask)
        if end.status_code != 201:
            raise self._put_refused(path, end, "uploading a blob")
        return descriptor

    def put_manifest(self, path: str, reference: str, body: bytes, media_type: str) -> str:
        """Store a manifest under a tag or under its digest, which is returned."""
        ask = self._ask("PUT", path, "manifests", reference, data=body, push=True, **{"Content-Type": media_type})
        answer = self._connection.ask(ask)
        if answer.status_code not in (200, 201):
            raise self._put_refused(path, answer, "storing a manifest")
        digest = digest_of(body)
        _check_digest(_named(self.host, path, reference), reference, answer, digest)
        return digest

    def referrers(self, path: str, digest: str) -> list[Descriptor]:
        """What is attached to `digest`: by the referrers API, or by the tag `sha256-<hex>` where there is none."""
        found: list[Descriptor] = []
        for answer in self._pages(self._ask("GET", path, "referrers", digest, Accept=OCI_INDEX)):
            if answer.status_code != 200 or OCI_INDEX not in answer.headers.get("Content-Type", ""):
                return self._tagged_referrers(path, digest)
            where = f"referrers of {_named(self.host, path, digest)}"
            found += parse_manifest(answer.body, answer.headers.get("Content-Type"), where=where).manifests
        return found

    def _tagged_referrers(self, path: str, digest: str) -> list[Descriptor]:
        """The fallback of the OCI distribution specification for registries without the API."""
        tag = digest.replace(":", "-")
        if not self.exists(path, tag):
            return []
        return list(self.manifest(path, tag).manifests)

    def _pages(self, ask: Ask) -> Iterator[Answer]:
        """The answer, and those that its Link headers lead to."""
        for _ in range(MOST_PAGES):
            answer = self._connection.ask(ask)
            yield answer
            following = _next(answer.headers.get("Link", ""))
            if following is None:
                return
            ask = Ask(ask.method, self._connection.absolute(following), ask.path, ask.headers)

    def _ask(
        self,
        method: str,
        path: str,
        kind: str,
        reference: str,
        data: bytes | None = None,
        push: bool = False,
        **headers: str,
    ) -> Ask:
        path = _api_path(self.host, path)
        url = f"{self._connection.root}v2/{quote(path)}/{kind}/{quote(reference, safe=':/')}"
        return Ask(method, url, path, headers, data, push)

    def _missing(self, path: str, reference: str, answer: Answer) -> ImageError:
        """Why a manifest did not come; asks for the tags, to say which there are."""
        if answer.status_code != 404:
            return refused(self.host, path, answer, "reading a manifest")
        if "NAME_UNKNOWN" in answer.codes:
            return repository_is_missing(self.host, path)
        try:
            tags = self.tags(path)
        except NotFound as error:
            return error
        except ImageError:
            tags = None
        if DIGEST.fullmatch(reference):
            return digest_is_missing(self.host, path, reference)
        if tags is None:
            return NotFound(f"there is no tag {reference!r}", where=f"{self.host}/{path}", remedy="check the name")
        return tag_is_missing(self.host, path, reference, tags)

    def _blob_refused(self, path: str, digest: str, answer: Answer) -> ImageError:
        if answer.status_code == 404:
            problem = "the registry does not have this blob"
            return NotFound(problem, where=_named(self.host, path, digest), remedy="push the image again")
        return refused(self.host, path, answer, "reading a blob")

    def _put_refused(self, path: str, answer: Answer, doing: str) -> ImageError:
        if answer.status_code == 404 and "NAME_UNKNOWN" in answer.codes:
            return repository_is_missing(self.host, path)
        return refused(self.host, path, answer, doing)


def registry_for(reference: Reference) -> Registry:
    """The reference's registry, with this user's credentials; none on loopback."""
    host = reference.host
    return Registry(host, credentials=None if is_loopback(host) else credentials_for(host))


def _named(host: str, path: str, reference: str) -> str:
    return f"{host}/{path}{'@' if DIGEST.fullmatch(reference) else ':'}{reference}"


def _api_path(host: str, path: str) -> str:
    """Docker Hub's official images stand under `library`."""
    return f"library/{path}" if host in ("docker.io", "index.docker.io") and "/" not in path else path


def _check_digest(where: str, reference: str, answer: Answer, digest: str) -> None:
    header = answer.headers.get("Docker-Content-Digest")
    if DIGEST.fullmatch(reference) and digest != reference:
        raise digest_differs(where, reference, digest)
    if header is not None and header != digest:
        raise header_differs(where, header, digest)


def _json(answer: Answer, where: str) -> dict[str, Any]:
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ImageError("the registry's answer is no JSON object", where=where, remedy="check the registry's address")
    return data


def _next(link: str) -> str | None:
    """The address in `<…>; rel="next"`."""
    address, _, relation = link.partition(">")
    return address.strip()[1:] if 'rel="next"' in relation and address.strip().startswith("<") else None
