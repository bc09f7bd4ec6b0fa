"""The token protocol of registries (distribution.github.io/distribution/spec/auth/token), and plain passwords."""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from overnight.images.credentials import Login
from overnight.images.errors import ImageError
from overnight.images.local import is_loopback

if TYPE_CHECKING:
    import requests

TIMEOUT = (10.0, 30.0)
"""Seconds to connect, and between two pieces of an answer."""


class Header:
    """Sets the Authorization header and nothing else: requests would otherwise read ~/.netrc."""

    def __init__(self, authorization: str | None) -> None:
        self._authorization = authorization

    def __call__(self, request: Any) -> Any:
        if self._authorization is not None:
            request.headers["Authorization"] = self._authorization
        return request


def challenges(header: str) -> dict[str, dict[str, str]]:
    """The schemes of a WWW-Authenticate header in lower case, each with its parameters."""
    found: dict[str, dict[str, str]] = {}
    scheme = ""
    for match in re.finditer(r'([A-Za-z][\w-]*)\s*=\s*(?:"([^"]*)"|([^\s,"]+))|([A-Za-z][\w-]*)', header[:4096]):
        if match[4]:
            scheme = match[4].lower()
            found[scheme] = {}
        elif scheme:
            found[scheme][match[1].lower()] = match[2] if match[2] is not None else match[3]
    return found


def token_answer(
    session: "requests.Session", root: str, challenge: Mapping[str, str], login: Login | None, scope: str
) -> "requests.Response":
    """What the token service says; raises ImageError where the login would travel without TLS."""
    realm = urljoin(root, challenge.get("realm", ""))
    if not is_safe(realm):
        problem = f"the registry sends logins to {realm!r:.100}, without TLS"
        raise ImageError(problem, where=urlsplit(root).netloc, remedy="ask who runs the registry")
    fields = {"service": challenge.get("service", ""), "scope": challenge.get("scope") or scope}
    if login and login.is_identity_token:
        form = {**fields, "grant_type": "refresh_token", "refresh_token": login.secret, "client_id": "overnight"}
        return session.request("POST", realm, data=form, auth=Header(None), timeout=TIMEOUT)
    return session.request("GET", realm, params=fields, auth=Header(basic(login) if login else None), timeout=TIMEOUT)


def token_in(response: "requests.Response", host: str) -> str:
    """The token in the service's answer; raises ImageError."""
    try:
        answer = response.json()
        token = answer.get("token") or answer.get("access_token")
    except (ValueError, AttributeError, RecursionError):
        token = None
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ImageError("the registry's token service gives no token", where=host, remedy="try again later")
    return token


def basic(login: Login) -> str:
    """The Authorization header of a user name and a password."""
    return f"Basic {b64encode(f'{login.user}:{login.secret}'.encode()).decode()}"


def is_safe(url: str) -> bool:
    """Whether nobody on the way can read along."""
    split = urlsplit(url)
    return split.scheme == "https" or (split.scheme == "http" and is_loopback(split.netloc.rpartition("@")[2]))
