"""A registry on loopback that speaks the OCI distribution API as docker-registry 2.8 does, and fails on demand."""

import base64
import json
import re
import secrets
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from registry_content import (
    CONFIG,
    DOCKER_LIST,
    DOCKER_MANIFEST,
    LAYER,
    OCI_INDEX,
    OCI_MANIFEST,
    RegistryContent,
    body_of,
    digest_of,
)
from registry_faults import Fault, body, cut, flip, header, slow, status
from registry_wire import Reply, Request, Server, handler

__all__ = [
    "CONFIG",
    "DOCKER_LIST",
    "DOCKER_MANIFEST",
    "LAYER",
    "OCI_INDEX",
    "OCI_MANIFEST",
    "Fault",
    "RegistryServer",
    "Reply",
    "Request",
    "body",
    "body_of",
    "cut",
    "digest_of",
    "flip",
    "header",
    "running_registry",
    "slow",
    "status",
]

NAME = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*"
ROUTES = [
    (re.compile(rf"/v2/({NAME})/manifests/([^/]+)"), "manifest"),
    (re.compile(rf"/v2/({NAME})/blobs/uploads/()"), "start_upload"),
    (re.compile(rf"/v2/({NAME})/blobs/uploads/([^/]+)"), "upload"),
    (re.compile(rf"/v2/({NAME})/blobs/([^/]+)"), "blob"),
    (re.compile(rf"/v2/({NAME})/tags/list()"), "tag_list"),
    (re.compile(rf"/v2/({NAME})/referrers/([^/]+)"), "referrer_list"),
]


class RegistryServer(RegistryContent):
    """The registry's content, its switches, and the list of what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.uploads: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.requests: list[Request] = []
        self.referrers_api = False
        """docker-registry 2.8 has none."""
        self.ranges = True
        """Whether GET of a blob heeds Range."""
        self.login: tuple[str, str] | None = None
        """USER and PASSWORD that are needed; None lets everybody in (through the token, where tokens are asked for)."""
        self.refresh_token: str | None = None
        """What an identity token must be."""
        self.challenge: str | None = None
        """`bearer`, `basic` or None."""
        self.realm: str | None = None
        """Where tokens are said to be had, when not here."""
        self.page = 1000
        """Tags on one page."""
        self.tokens: dict[str, str] = {}
        """Token: scope."""
        self._lock = threading.Lock()
        self._server = Server(("127.0.0.1", 0), handler(lambda request: self.reply(request)))
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def host(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> "RegistryServer":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def asked(self, pattern: str) -> list[Request]:
        """The requests whose `METHOD PATH` matches."""
        return [request for request in self.requests if re.search(pattern, f"{request.method} {request.path}")]

    def reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            reply = self._reply(request)
            for fault in self.faults:
                if fault.times > 0 and re.search(fault.pattern, f"{request.method} {request.path}"):
                    fault.times -= 1
                    reply = fault.change(reply)
            return reply

    def _reply(self, request: Request) -> Reply:
        path = urlsplit(request.path).path
        if path == "/token":
            return self._token(request)
        for route, name in ROUTES:
            if match := route.fullmatch(path):
                refusal = self._refusal(request, match[1])
                return refusal or getattr(self, f"_{name}")(request, match[1], match[2])
        if path in ("/v2", "/v2/"):
            return self._refusal(request, None) or Reply(200, {"Content-Type": "application/json"}, b"{}")
        return Reply(404, {"Content-Type": "text/plain; charset=utf-8"}, b"404 page not found\n")

    def _refusal(self, request: Request, path: str | None) -> Reply | None:
        """401 with a challenge, where one is wanted and not met."""
        if self.challenge is None:
            return None
        given = request.headers.get("authorization", "")
        action = "pull" if request.method in ("GET", "HEAD") else "push"
        if self.challenge == "basic":
            if given == _basic(self.login):
                return None
            offer = 'Basic realm="the registry"'
        else:
            scope = self.tokens.get(given.removeprefix("Bearer "), "") if given.startswith("Bearer ") else ""
            if path is None or (scope.split(":")[1:2] == [path] and action in scope.split(":")[2].split(",")):
                return None
            offer = f'Bearer realm="{self.realm or f"http://{self.host}/token"}",service="{self.host}"'
            if path is not None:
                offer += f',scope="repository:{path}:{"pull" if action == "pull" else "pull,push"}"'
        reply = _error(401, "UNAUTHORIZED", "authentication required")
        reply.headers["WWW-Authenticate"] = offer
        return reply

    def _token(self, request: Request) -> Reply:
        form = parse_qs(request.body.decode() if request.method == "POST" else urlsplit(request.path).query)
        if request.method == "POST":
            let_in = form.get("refresh_token") == [self.refresh_token] and form["grant_type"] == ["refresh_token"]
        else:
            let_in = self.login is None or request.headers.get("authorization", "") == _basic(self.login)
        if not let_in:
            return _error(401, "UNAUTHORIZED", "incorrect username or password")
        token = secrets.token_urlsafe(12)
        self.tokens[token] = form["scope"][0]
        key = "access_token" if request.method == "POST" else "token"
        return Reply(200, {"Content-Type": "application/json"}, body_of({key: token, "expires_in": 300}))

    def _manifest(self, request: Request, path: str, reference: str) -> Reply:
        if request.method == "PUT":
            return self._put(request, path, reference)
        if path not in self.manifests:
            return _error(404, "NAME_UNKNOWN", "repository name not known to registry", {"name": path})
        digest = reference if reference.startswith("sha256:") else self.tags.get(path, {}).get(reference, "")
        found = self.manifests[path].get(digest)
        if found is None:
            return _error(404, "MANIFEST_UNKNOWN", "manifest unknown", {"Tag": reference})
        by_tag = digest != reference
        named = {part.partition(";")[0].strip() for part in request.headers.get("accept", "").split(",")}
        data, media_type = found
        if by_tag and media_type == DOCKER_LIST and DOCKER_LIST not in named:
            digest = self._for_old_clients(data)
            data, media_type = self.manifests[path].get(digest, found)
        if media_type not in named and media_type in (OCI_INDEX, OCI_MANIFEST):
            kind, kinds = ("index", "indexes") if media_type == OCI_INDEX else ("manifest", "manifests")
            message = f"OCI {kind} found, but accept header does not support OCI {kinds}"
            return _error(404, "MANIFEST_UNKNOWN", message)
        if media_type not in named and by_tag:  # 2.8 would rewrite it to schema 1, which is switched off
            return _error(400, "MANIFEST_INVALID", "manifest invalid", {})
        headers = {"Content-Type": media_type, "Docker-Content-Digest": digest, "Etag": f'"{digest}"'}
        return Reply(200, headers, data)

    @staticmethod
    def _for_old_clients(data: bytes) -> str:
        """The image that a client gets which does not know Docker's lists: another digest than the tag's."""
        for entry in json.loads(data)["manifests"]:
            if (entry["platform"]["os"], entry["platform"]["architecture"]) == ("linux", "amd64"):
                return str(entry["digest"])
        return ""

    def _put(self, request: Request, path: str, reference: str) -> Reply:
        digest = digest_of(request.body)
        if reference.startswith("sha256:") and reference != digest:
            return _error(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        try:
            value = json.loads(request.body)
            parts = value["manifests"] if "manifests" in value else [value["config"], *value["layers"]]
        except (ValueError, KeyError, TypeError):
            return _error(400, "MANIFEST_INVALID", "manifest invalid")
        known = self.manifests.get(path, {}) if "manifests" in value else self.blobs.get(path, {})
        for part in parts:
            if part["digest"] not in known:
                return _error(400, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry", {"Digest": part["digest"]})
        tag = None if reference.startswith("sha256:") else reference
        self.put_manifest(path, request.body, request.headers.get("content-type", ""), tag)
        headers = {"Docker-Content-Digest": digest, "Location": f"http://{self.host}/v2/{path}/manifests/{digest}"}
        if self.referrers_api and value.get("subject"):
            headers["OCI-Subject"] = value["subject"]["digest"]
        return Reply(201, headers)

    def _blob(self, request: Request, path: str, digest: str) -> Reply:
        data = self.blobs.get(path, {}).get(digest)
        if data is None:
            return _error(404, "BLOB_UNKNOWN", "blob unknown to registry", digest)
        headers = {"Content-Type": "application/octet-stream", "Docker-Content-Digest": digest}
        wanted = re.fullmatch(r"bytes=([0-9]+)-", request.headers.get("range", ""))
        if wanted and self.ranges:
            start = int(wanted[1])
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            return Reply(206, headers, data[start:])
        return Reply(200, headers, data)

    def _start_upload(self, request: Request, path: str, _: str) -> Reply:
        if request.method != "POST":
            return _error(405, "UNSUPPORTED", "the operation is unsupported")
        query = parse_qs(urlsplit(request.path).query)
        if "digest" in query:
            return self._finish(path, request.body, query["digest"][0])
        name = secrets.token_hex(8)
        self.uploads[name] = b""
        return self._progress(path, name)

    def _upload(self, request: Request, path: str, name: str) -> Reply:
        if name not in self.uploads:
            return _error(404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry")
        self.uploads[name] += request.body
        if request.method == "PATCH":
            return self._progress(path, name)
        if request.method != "PUT":
            return _error(405, "UNSUPPORTED", "the operation is unsupported")
        query = parse_qs(urlsplit(request.path).query)
        return self._finish(path, self.uploads.pop(name), query.get("digest", [""])[0])

    def _progress(self, path: str, name: str) -> Reply:
        location = f"http://{self.host}/v2/{path}/blobs/uploads/{name}?_state={secrets.token_hex(4)}"
        done = max(0, len(self.uploads[name]) - 1)
        return Reply(202, {"Location": location, "Docker-Upload-UUID": name, "Range": f"0-{done}"})

    def _finish(self, path: str, data: bytes, digest: str) -> Reply:
        if digest_of(data) != digest:
            return _error(400, "DIGEST_INVALID", "provided digest did not match uploaded content")
        self.put_blob(path, data)
        location = f"http://{self.host}/v2/{path}/blobs/{digest}"
        return Reply(201, {"Location": location, "Docker-Content-Digest": digest})

    def _tag_list(self, request: Request, path: str, _: str) -> Reply:
        if path not in self.manifests and path not in self.blobs:
            return _error(404, "NAME_UNKNOWN", "repository name not known to registry", {"name": path})
        last = parse_qs(urlsplit(request.path).query).get("last", [""])[0]
        tags = [tag for tag in sorted(self.tags.get(path, {})) if tag > last]
        headers = {"Content-Type": "application/json"}
        if len(tags) > self.page:
            tags = tags[: self.page]
            headers["Link"] = f'</v2/{path}/tags/list?last={tags[-1]}&n={self.page}>; rel="next"'
        return Reply(200, headers, body_of({"name": path, "tags": tags or None}))

    def _referrer_list(self, _request: Request, path: str, digest: str) -> Reply:
        if not self.referrers_api:
            return Reply(404, {"Content-Type": "text/plain; charset=utf-8"}, b"404 page not found\n")
        entries = [
            self._referrer(path, name)
            for name, (data, _) in self.manifests.get(path, {}).items()
            if (json.loads(data).get("subject") or {}).get("digest") == digest
        ]
        value = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": entries}
        return Reply(200, {"Content-Type": OCI_INDEX}, body_of(value))


def _error(code: int, error: str, message: str, detail: Any = None) -> Reply:
    details = {} if detail is None else {"detail": detail}
    value = {"errors": [{"code": error, "message": message, **details}]}
    return Reply(code, {"Content-Type": "application/json; charset=utf-8"}, body_of(value) + b"\n")


def _basic(login: tuple[str, str] | None) -> str:
    return f"Basic {base64.b64encode(':'.join(login or ('', '')).encode()).decode()}"


@contextmanager
def running_registry(tls: ssl.SSLContext | None = None) -> Iterator[RegistryServer]:
    """A registry that serves until the block ends."""
    with RegistryServer(tls) as server:
        yield server
