"""HTTP for the registry of the tests: late replies and connections that are cut included."""

import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


@dataclass
class Reply:
    """What the server is about to send."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0
    """Seconds before the first byte."""
    cut_after: int | None = None
    """Bytes of the body after which the connection is closed."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are what some tests are about."""


def handler(reply_to: Callable[[Request], Reply]) -> type[BaseHTTPRequestHandler]:
    """Serves what `reply_to` says."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body are two writes: 40 ms a reply otherwise

        def _serve(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers, self._body(headers))
            self._send(reply_to(request))

        do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 (http.server's names)

        def _body(self, headers: dict[str, str]) -> bytes:
            if headers.get("transfer-encoding") == "chunked":
                return b"".join(self._chunks())
            return self.rfile.read(int(headers.get("content-length", 0)))

        def _chunks(self) -> Iterator[bytes]:
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()

        def _send(self, reply: Reply) -> None:
            if reply.delay:
                time.sleep(reply.delay)
            if reply.cut_after is not None and reply.cut_after < 0:
                self._close()
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if "Content-Length" not in reply.headers:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if reply.cut_after is None:
                self.wfile.write(reply.body)
            else:
                self.wfile.write(reply.body[: reply.cut_after])
                self.wfile.flush()
                self._close()

        def _close(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, *_: Any) -> None:
            """`RegistryServer.requests` is the log."""

    return Handler
