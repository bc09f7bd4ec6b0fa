"""A Cloud Storage bucket on this machine that serves objects as the service does, and fails as it sometimes does.

Beyond terraform_bucket.py: crc32c in an object's description, ranges, generations that are gone, and faults by object.
"""

import base64
import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

import google_crc32c

from terraform_bucket import Bucket, Handler


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one download: a status in place of it, or after `after` bytes a cut, a silence, a flipped
    byte; `pause` seconds before each 16 KiB."""

    status: int = 0
    after: int = 0
    cut: bool = False
    silence: float = 0.0
    flip: bool = False
    pause: float = 0.0


@dataclass
class ObjectBucket(Bucket):
    """`faults`: by object, one for each download to come; `downloads` and `descriptions` count requests by object."""

    faults: dict[str, deque[Fault]] = field(default_factory=dict)
    description_faults: dict[str, deque[int]] = field(default_factory=dict)
    downloads: Counter[str] = field(default_factory=Counter)
    descriptions: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    """Bytes by object."""

    def metadata(self, name: str) -> dict[str, Any]:
        """With the checksum that clients compare."""
        content = self.get(name)[1]
        checksum = base64.b64encode(google_crc32c.value(content).to_bytes(4, "big")).decode()
        return {**super().metadata(name), "crc32c": checksum}

    def fail(self, name: str, *faults: Fault) -> None:
        """Let the next downloads of an object go wrong."""
        self.faults[name] = deque(faults)

    def next_fault(self, name: str) -> Fault:
        """Of the download that has just begun."""
        waiting = self.faults.get(name)
        return waiting.popleft() if waiting else Fault()


class ObjectHandler(Handler):
    """Downloads with ranges and faults."""

    bucket: ObjectBucket

    def do_GET(self) -> None:  # noqa: N802
        """Describe or send an object."""
        if self.query.get("alt") == "media":
            name = self.path_.removeprefix(f"/download/storage/v1/b/{self.bucket.name}/o/")
            self._download(name)
            return
        if name := self.object_name:
            self.bucket.descriptions[name] += 1
            waiting = self.bucket.description_faults.get(name)
            if waiting:
                self.send_error(waiting.popleft())
                return
        super().do_GET()

    def _download(self, name: str) -> None:
        self.bucket.downloads[name] += 1
        fault = self.bucket.next_fault(name)
        generation, content = self.bucket.objects.get(name, (0, b""))
        if generation == 0 or self.query.get("generation", str(generation)) != str(generation):
            fault = Fault(status=404)
        if fault.status:
            self.send_error(fault.status)
            return
        start, stop = self._range(len(content))
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("Content-Length", str(stop - start))
        self.send_header("X-Goog-Generation", str(generation))
        self.end_headers()
        with contextlib.suppress(OSError):  # the client has gone
            self._send(name, bytearray(content[start:stop]), fault)

    def _range(self, size: int) -> tuple[int, int]:
        unit, _, span = self.headers.get("Range", "").partition("=")
        first, _, last = span.partition("-")
        return (int(first), min(size, int(last) + 1) if last else size) if unit == "bytes" else (0, size)

    def _send(self, name: str, content: bytearray, fault: Fault) -> None:
        if fault.flip:
            content[fault.after] ^= 1
        stop = fault.after if fault.cut or fault.silence else len(content)
        for at in range(0, stop, 16384):
            if fault.pause:
                time.sleep(fault.pause)
            piece = content[at : min(at + 16384, stop)]
            self.wfile.write(piece)
            self.bucket.sent[name] += len(piece)
        self.wfile.flush()
        if fault.silence:
            time.sleep(fault.silence)
        if fault.cut or fault.silence:
            self.close_connection = True


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients of these tests leave in the middle."""


@contextlib.contextmanager
def serving_objects(name: str) -> Iterator[ObjectBucket]:
    """An empty bucket on this machine, for as long as the context lasts."""
    bucket = ObjectBucket(name)
    handler = type("BucketHandler", (ObjectHandler,), {"bucket": bucket})
    with _Server(("127.0.0.1", 0), handler) as server:
        bucket.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield bucket
        server.shutdown()
