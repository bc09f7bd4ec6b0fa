"""What registries and the way to them can refuse, each in one sentence."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.local import is_loopback

FEW_TAGS = 10
"""Tags that a sentence still lists."""


class NotFound(ImageError):
    """The registry has no such repository, tag, digest or blob."""


class OtherBytes(ImageError):
    """What the registry serves is not what was named."""


class Denied(ImageError):
    """The registry knows no reason to let us."""


@dataclass(frozen=True)
class Answer:
    """A registry's answer, whole."""

    status_code: int
    headers: Any
    """Names in any case."""
    body: bytes
    url: str = ""

    @property
    def codes(self) -> set[str]:
        """The error codes of the OCI distribution specification, such as MANIFEST_UNKNOWN."""
        return {error["code"] for error in self._errors() if isinstance(error.get("code"), str)}

    @property
    def said(self) -> str:
        """The registry's own words on one line, for a sentence."""
        texts = [f"{error.get('code', '')}: {error.get('message', '')}".strip(": ") for error in self._errors()]
        return " ".join(", ".join(text for text in texts if text).split())[:200].rstrip(".;, ")

    def _errors(self) -> list[dict[str, Any]]:
        try:
            errors = json.loads(self.body)["errors"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return []
        return [error for error in errors if isinstance(error, dict)] if isinstance(errors, list) else []


def unreachable(host: str, error: BaseException) -> ImageError:
    """No answer at all: no such host, nobody listening, no TLS, too slow, cut off."""
    here = is_loopback(host)
    reason, remedy = _reason(error)
    if remedy is None:
        remedy = "check the host's name and the network"
        if here:
            remedy = "start the local one (overnight image registry), or check the port"
    return ImageError(reason, where=host, remedy=remedy)


def refused(host: str, path: str, answer: Answer, doing: str) -> ImageError:
    """An answer that is neither success, nor denial, nor `not found`."""
    said = f" ({answer.said})" if answer.said else ""
    where = f"{host}/{path}"
    if answer.status_code == 429:
        return ImageError(
            f"the registry takes no more requests for now{said}", where=where, remedy="wait and try again"
        )
    if answer.status_code >= 500:
        problem = f"the registry failed with {answer.status_code}{said} while {doing}"
        return ImageError(problem, where=where, remedy="try again later")
    problem = f"the registry answered {answer.status_code}{said} while {doing}"
    return ImageError(problem, where=where, remedy="check that this is a container registry, and the name")


def denied(host: str, path: str, answer: Answer, *, push: bool, source: str | None) -> Denied:
    """401 and 403: who was refused, and what would let them in."""
    who = f"the login from {source}" if source else "a request without login"
    said = f" ({answer.said})" if answer.said else ""
    if host.endswith(".pkg.dev"):
        role = "roles/artifactregistry.writer" if push else "roles/artifactregistry.reader"
        login = "" if source else "run `gcloud auth application-default login`, or "
        remedy = f"{login}grant {role} on the repository"
    elif is_loopback(host):
        remedy = "give the registry's login, or run it without one"
    else:
        remedy = (
            f"run `docker login {host}`" if not source else "use an account that may " + ("push" if push else "pull")
        )
    return Denied(
        f"the registry denies {who} {'to push' if push else 'to pull'}{said}", where=f"{host}/{path}", remedy=remedy
    )


def digest_differs(where: str, asked: str, served: str) -> OtherBytes:
    """Bytes that are not the bytes that were named."""
    return OtherBytes(
        f"the registry serves other bytes: {asked} was named and {served} came",
        where=where,
        remedy="do not use them; build or copy the image again",
    )


def header_differs(where: str, header: str, served: str) -> ImageError:
    """A body that is not what its own header says."""
    return ImageError(
        f"the registry serves other bytes: its header Docker-Content-Digest says {header!r:.80} and {served} came",
        where=where,
        remedy="do not use them; look at the registry, or at a proxy before it",
    )


def tag_is_missing(host: str, path: str, tag: str, tags: Iterable[str]) -> NotFound:
    """No such tag: which ones there are, when they are few."""
    found = sorted(tags)
    where = f"{host}/{path}"
    if not found:
        return NotFound(f"there is no tag {tag!r}, nor any other", where=where, remedy="push the image first")
    if len(found) <= FEW_TAGS:
        problem = f"there is no tag {tag!r}, only {', '.join(found)}"
    else:
        problem = f"there is no tag {tag!r} among the {len(found)} tags"
    return NotFound(problem, where=where, remedy="name one of these" if len(found) <= FEW_TAGS else "check the name")


def repository_is_missing(host: str, path: str) -> NotFound:
    """No such repository."""
    return NotFound(
        "the registry has no such repository", where=f"{host}/{path}", remedy="check the name, or push first"
    )


def digest_is_missing(host: str, path: str, digest: str) -> NotFound:
    """No such manifest."""
    remedy = "check the digest, and that it is of this repository"
    return NotFound(f"no image with the digest {digest} is there", where=f"{host}/{path}", remedy=remedy)


def _reason(error: BaseException) -> tuple[str, str | None]:
    import requests
    import urllib3

    inner = getattr(error.args[0], "reason", error) if error.args else error
    if isinstance(error, requests.exceptions.SSLError) or isinstance(inner, urllib3.exceptions.SSLError):
        remedy = "check the host, or name your certificate authority's file in REQUESTS_CA_BUNDLE"
        return f"TLS failed ({_short(inner)})", remedy
    if isinstance(inner, urllib3.exceptions.NameResolutionError):
        return "there is no such host", None
    if isinstance(error, requests.exceptions.Timeout):
        return "the registry does not answer in time", "try again, and look at the network or the registry's log"
    if isinstance(inner, urllib3.exceptions.NewConnectionError):
        return f"no registry listens there ({_short(inner)})", None
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return "the registry redirects in a circle", None
    if isinstance(error, (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        return "the registry cuts the connection", "try again, and look at the network or the registry's log"
    return f"the registry cannot be asked ({_short(error)})", None


def _short(error: BaseException) -> str:
    """The part of a nested message that a person can use."""
    text = " ".join(str(error).split())
    for known in ("certificate verify failed: ", "Errno "):
        if known in text:
            text = text.rpartition(known)[2].partition("] ")[2 if known == "Errno " else 0]
    return text.strip("()'\" .")[:160] or type(error).__name__
