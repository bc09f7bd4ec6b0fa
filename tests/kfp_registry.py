"""A registry of pipeline templates on this machine, as Artifact Registry's repositories of format KFP are.

What kfp 2.17.3's RegistryClient asks for: upload and download by the repository's host, packages, versions and tags by
Artifact Registry's API, which is served here by the same host, for location `local`. Templates lie in a folder as
`overnight vertex serve --templates` reads them, so that a local Vertex AI finds what was published by its digest.
"""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

API = re.compile(
    r"/v1/(?P<repository>projects/(?P<project>[^/]+)/locations/local/repositories/(?P<name>[^/]+))"
    r"/packages/(?P<package>[^/]+)(?:/(?P<kind>tags|versions)(?:/(?P<id>[^/]+))?)?"
)


class Refused(Exception):
    """The HTTP status and message that the service answers with."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


@dataclass
class KfpRegistry:
    """Repositories that exist, their templates and tags; and what was asked, in order."""

    folder: Path
    repositories: tuple[str, ...]
    """`PROJECT/REPOSITORY`."""
    url: str = ""
    tags: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Versions by repository, package and tag."""
    asked: list[tuple[str, str]] = field(default_factory=list)
    refuses: tuple[int, str] | None = None
    """Status and message for every request, when it is set."""
    says: str | None = None
    """The answer to every upload, when it is set."""

    def address(self, repository: str) -> str:
        """What `--repository` is given."""
        return f"{self.url}/{repository}"

    def file(self, repository: str, package: str, version: str) -> Path:
        """Where a version's bytes lie."""
        return self.folder / repository / package / f"{version.removeprefix('sha256:')}.yaml"

    def admit(self) -> None:
        """Let a request in, unless the registry refuses all."""
        if self.refuses:
            raise Refused(*self.refuses)

    def upload(self, repository: str, content: bytes, tags: list[str]) -> str:
        """Keep a template; tags that are named move to it. `NAME/sha256:…`."""
        self._demand(repository)
        name, version = _name(content), f"sha256:{hashlib.sha256(content).hexdigest()}"
        path = self.file(repository, name, version)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.tags.update({(repository, name, tag): version for tag in tags})
        return self.says or f"{name}/{version}"

    def download(self, repository: str, package: str, version: str) -> bytes:
        """The bytes of a version, or of the version that a tag stands on."""
        self._demand(repository)
        path = self.file(repository, package, self.tags.get((repository, package, version), version))
        if not path.is_file():
            raise Refused(404, f"{package}/{version} not found")
        return path.read_bytes()

    def set_tag(self, repository: str, package: str, tag: str, version: str, anew: bool) -> str:
        """Create a tag (409 when it is there), or move one."""
        self._demand(repository)
        if anew and (repository, package, tag) in self.tags:
            raise Refused(409, f"tag {tag} already exists")
        self.download(repository, package, version)
        self.tags[repository, package, tag] = version
        return version

    def _demand(self, repository: str) -> None:
        if repository not in self.repositories:
            raise Refused(404, f"repository {repository} not found")


def _name(content: bytes) -> str:
    try:
        spec = YAML(typ="safe", pure=True).load(content)
        return str(spec["pipelineInfo"]["name"])
    except (YAMLError, LookupError, TypeError) as error:
        raise Refused(400, f"this is no pipeline: {error!r}") from None


class _Handler(BaseHTTPRequestHandler):
    registry: KfpRegistry

    def do_GET(self) -> None:
        self._answered(self._get)

    def do_POST(self) -> None:
        self._answered(self._post)

    def do_PATCH(self) -> None:
        self._answered(lambda: self._tag(anew=False))

    def _answered(self, answer: Any) -> None:
        registry = self.registry
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.body = body
        registry.asked.append((self.command, self.path))
        try:
            registry.admit()
            found = answer()
        except Refused as refused:
            error = {"error": {"code": refused.status, "message": str(refused)}}
            self._send(refused.status, json.dumps(error).encode(), "application/json")
        else:
            kind = "text/plain" if isinstance(found, str) else "application/octet-stream"
            content = found.encode() if isinstance(found, str) else found
            self._send(200, json.dumps(found).encode() if isinstance(found, dict) else content, kind)

    def _get(self) -> Any:
        path = unquote(urlsplit(self.path).path)
        match = API.fullmatch(path)
        if match is None:
            parts = path.strip("/").split("/")
            if len(parts) != 4:
                raise Refused(404, "not found")
            return self.registry.download("/".join(parts[:2]), *parts[2:])
        return self._resource(match)

    def _resource(self, match: re.Match[str]) -> dict[str, Any]:
        repository, package, registry = f"{match['project']}/{match['name']}", match["package"], self.registry
        name = f"{match['repository']}/packages/{package}"
        if match["kind"] == "tags" and match["id"]:
            version = registry.tags.get((repository, package, match["id"]))
            if version is None:
                raise Refused(404, f"tag {match['id']} not found")
            return {"name": f"{name}/tags/{match['id']}", "version": f"{name}/versions/{version}"}
        if match["kind"] == "tags":
            found = {tag: version for (*where, tag), version in registry.tags.items() if where == [repository, package]}
            return {
                "tags": [{"name": f"{name}/tags/{tag}", "version": f"{name}/versions/{found[tag]}"} for tag in found]
            }
        versions = sorted((registry.folder / repository / package).glob("*.yaml"))
        if match["kind"] == "versions":
            return {"versions": [{"name": f"{name}/versions/sha256:{path.stem}"} for path in versions]}
        if not versions:
            raise Refused(404, f"package {package} not found")
        return {"name": name}

    def _post(self) -> Any:
        if self.path.startswith("/v1/"):
            return self._tag(anew=True)
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parts: Any = BytesParser().parsebytes(head + self.body).get_payload()
        fields = {part.get_param("name", header="Content-Disposition"): part.get_payload(decode=True) for part in parts}
        if "content" not in fields:
            raise Refused(400, "there is no content")
        tags = fields.get("tags", b"").decode()
        return self.registry.upload(self.path.strip("/"), fields["content"], tags.split(",") if tags else [])

    def _tag(self, anew: bool) -> dict[str, Any]:
        split = urlsplit(self.path)
        match = API.fullmatch(unquote(split.path))
        tag = parse_qs(split.query).get("tagId", [""])[0] if anew else (match and match["id"])
        if match is None or match["kind"] != "tags" or not tag:
            raise Refused(400, "a tag is named in the wrong way")
        package = f"{match['repository']}/packages/{match['package']}"
        version = json.loads(self.body)["version"]
        if not version.startswith(f"{package}/versions/"):
            raise Refused(400, f"{version} is no version of {package}")
        repository = f"{match['project']}/{match['name']}"
        self.registry.set_tag(repository, match["package"], tag, version.rpartition("/")[2], anew)
        return {"name": f"{package}/tags/{tag}", "version": version}

    def _send(self, status: int, content: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Tests read what was asked from the registry itself."""


@contextmanager
def kfp_registry(folder: Path, *repositories: str) -> Iterator[KfpRegistry]:
    """A registry on a free port of this machine that holds these repositories, until the block ends."""
    registry = KfpRegistry(folder, repositories)
    handler = type("Handler", (_Handler,), {"registry": registry})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
