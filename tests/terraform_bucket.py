"""A Cloud Storage bucket: for Terraform's gcs backend, its states and the locks on them; for releases of images.

Just the requests that the two make, with what a lock rests on: `ifGenerationMatch`, which writes only what is not
there yet and deletes only what is still the same (docs: "Request preconditions").
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class Refused(Exception):
    """The HTTP status that the service answers with."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


@dataclass
class Bucket:
    """Objects by name, each with its generation; and what was written and deleted, in order."""

    name: str
    url: str = ""
    objects: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    changes: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def environment(self) -> dict[str, str]:
        """What sends Terraform's backend there, without credentials."""
        return {"STORAGE_EMULATOR_HOST": self.url}

    def get(self, name: str) -> tuple[int, bytes]:
        """Generation and content."""
        if name not in self.objects:
            raise Refused(404)
        return self.objects[name]

    def put(self, name: str, content: bytes, if_generation: str | None = None) -> None:
        """Write an object; 412 when it is not of the generation that was asked for, 0 for none."""
        with self.lock:
            self._demand(name, if_generation)
            generation = 1 + max((found for found, _ in self.objects.values()), default=1000)
            self.objects[name] = (generation, content)
            self.changes.append(("written", name))

    def delete(self, name: str, if_generation: str | None = None) -> None:
        """Delete an object, under the same condition."""
        with self.lock:
            self.get(name)
            self._demand(name, if_generation)
            del self.objects[name]
            self.changes.append(("deleted", name))

    def metadata(self, name: str) -> dict[str, Any]:
        """The object resource of the JSON API, as far as the client reads it."""
        generation, content = self.get(name)
        numbers = {"generation": str(generation), "metageneration": "1", "size": str(len(content))}
        return {"kind": "storage#object", "name": name, "bucket": self.name, **numbers}

    def _demand(self, name: str, if_generation: str | None) -> None:
        generation = self.objects.get(name, (0, b""))[0]
        if if_generation is not None and int(if_generation) != generation:
            raise Refused(412)


class Handler(BaseHTTPRequestHandler):
    """The JSON API of one bucket, and its plain downloads."""

    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the bucket writes down what changes."""

    def do_GET(self) -> None:
        """List, read about or read an object."""
        prefix = self.query.get("prefix", "")
        if self.path_.startswith("/download/") and self.query.get("alt") == "media":
            name = self.path_.removeprefix(f"/download/storage/v1/b/{self.bucket.name}/o/")
            self.answer(lambda: self.bucket.get(name))
            return
        if self.path_ == f"/storage/v1/b/{self.bucket.name}/o":
            names = sorted(name for name in self.bucket.objects if name.startswith(prefix))
            self.answer(lambda: {"kind": "storage#objects", "items": [self.bucket.metadata(name) for name in names]})
        elif name := self.object_name:
            self.answer(lambda: self.bucket.metadata(name))
        else:
            name = self.path_.removeprefix(f"/{self.bucket.name}/")
            self.answer(lambda: self.bucket.get(name))

    def do_POST(self) -> None:
        """Upload an object: its description and its content in one body."""
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        about, content = BytesParser().parsebytes(head + self.body()).get_payload()
        # Terraform's client names the object in the query, the one for Python in its description.
        name = self.query.get("name") or json.loads(about.get_payload())["name"]

        def upload() -> dict[str, Any]:
            self.bucket.put(name, content.get_payload(decode=True), self.query.get("ifGenerationMatch"))
            return self.bucket.metadata(name)

        self.answer(upload)

    def do_DELETE(self) -> None:
        """Delete an object."""
        self.answer(lambda: self.bucket.delete(self.object_name, self.query.get("ifGenerationMatch")))

    @property
    def path_(self) -> str:
        return unquote(urlsplit(self.path).path)

    @property
    def object_name(self) -> str:
        before = f"/storage/v1/b/{self.bucket.name}/o/"
        return self.path_.removeprefix(before) if self.path_.startswith(before) else ""

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def body(self) -> bytes:
        """The request's body; the client sends it in chunks, since it does not know how long it will be."""
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers["Content-Length"]))
        received = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            received += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return received

    def answer(self, act: Any) -> None:
        """Send what `act` returns, or the status with which it was refused."""
        try:
            result, status = act(), 200
        except Refused as refusal:
            result, status = {"error": {"code": refusal.status, "message": "refused"}}, refusal.status
        self.send_response(204 if result is None else status)
        if isinstance(result, tuple):
            self.send_header("X-Goog-Generation", str(result[0]))
            content, kind = result[1], "application/octet-stream"
        else:
            content, kind = (b"" if result is None else json.dumps(result).encode()), "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def serving(name: str) -> Iterator[Bucket]:
    """An empty bucket on this machine, for as long as the context lasts."""
    bucket = Bucket(name)
    handler = type("BucketHandler", (Handler,), {"bucket": bucket})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        bucket.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield bucket
        server.shutdown()
