"""The API over HTTP with JSON, and the server's own controls under /control/."""

import json
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import grpc

from overnight.vertex_local.api.dispatch import Api
from overnight.vertex_local.api.errors import ApiError, invalid, not_found
from overnight.vertex_local.api.transcoding import Routes, to_json, to_request

THREADS = 16
"""Requests carried out at the same time. Every answer closes its connection, so that idle clients hold no thread."""
MAX_BODY_BYTES = 10 * 2**20
_PATIENCE_SECONDS = 30.0
_BACKLOG = 128
_CONTROL = "/control/"
_ENTRIES = "/v2/entries:list"
"""Cloud Logging's path, for the control `entries`."""

Control = Callable[[dict[str, Any]], dict[str, Any]]
"""From the JSON sent to the JSON answered."""

HTTP_CODES: dict[grpc.StatusCode, int] = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}
"""google/rpc/code.proto; every other code is 500."""

_log = logging.getLogger(__name__)


class RestFront:
    """A started HTTP server."""

    def __init__(self, server: "_Server") -> None:
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="rest", daemon=True)
        self._thread.start()
        self.port = server.server_address[1]

    def stop(self) -> None:
        """Take no more requests and finish those that run."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def serve_rest(api: Api, host: str, port: int, controls: Mapping[str, Control] | None = None) -> RestFront:
    """Listen on `host`:`port` (0: any free one). Raises OSError when the port is taken."""
    return RestFront(_Server((host, port), api, controls or {}))


class _Server(HTTPServer):
    """An HTTP server whose threads are counted."""

    request_queue_size = _BACKLOG

    def __init__(self, address: tuple[str, int], api: Api, controls: Mapping[str, Control]) -> None:
        self.api = api
        self.controls = controls
        self.routes = Routes(api.methods)
        self.hosts = {"localhost", "127.0.0.1", "[::1]", address[0]}
        self._slots = threading.BoundedSemaphore(THREADS)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="rest")
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._slots.acquire()
        self._pool.submit(self._answer, request, client_address)

    def _answer(self, request: Any, client_address: Any) -> None:
        try:
            request.settimeout(_PATIENCE_SECONDS)
            self.finish_request(request, client_address)
        except OSError:
            _log.debug("a client went away", exc_info=True)
        finally:
            self.shutdown_request(request)
            self._slots.release()

    def server_close(self) -> None:
        super().server_close()
        self._pool.shutdown()


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def _serve(self) -> None:
        try:
            self._refuse_browsers()
            body = self._read_body()
            self._send(200, self._answer(urlsplit(self.path), body))
        except ApiError as error:
            self._send_error(error.code, error.message)
        except OSError:
            raise
        except Exception as error:  # whatever went wrong, the client gets a status
            _log.exception("%s %s failed", self.command, self.path)
            self._send_error(grpc.StatusCode.INTERNAL, f"Internal error: {error!r}")

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = do_OPTIONS = _serve  # noqa: N815 (the base class's names)

    def _answer(self, url: Any, body: bytes) -> bytes:
        if url.path.startswith(_CONTROL):
            return self._control(url.path.removeprefix(_CONTROL), body)
        if url.path == _ENTRIES:
            return self._control("entries", body)
        route, variables = self.server.routes.find(self.command, url.path)
        request = to_request(route, variables, parse_qsl(url.query, keep_blank_values=True), body)
        answer = self.server.api.call(route.method.path, request)
        if route.method.streams:
            return b"[" + b",".join(map(to_json, answer)) + b"]"
        return to_json(answer)

    def _control(self, name: str, body: bytes) -> bytes:
        control = self.server.controls.get(name)
        if control is None or self.command != "POST":
            raise not_found(self.path)
        try:
            content = json.loads(body or b"{}")
        except ValueError as error:
            raise invalid(f"Invalid JSON payload received. {error}") from None
        if not isinstance(content, dict):
            raise invalid("Invalid JSON payload received. Root element must be an object.")
        return json.dumps(control(content), indent=2).encode() + b"\n"

    def _refuse_browsers(self) -> None:
        """A job runs commands on this machine, so a web page open in a browser must not be able to create one."""
        host = self.headers.get("host", "").rsplit(":", 1)[0] if self.headers.get("host") else "localhost"
        if self.headers.get("origin") or host not in self.server.hosts:
            raise ApiError(grpc.StatusCode.PERMISSION_DENIED, "Requests from web pages are refused.")

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding"):
            raise invalid("Request bodies need a Content-Length.")
        length = self.headers.get("content-length", "0")
        if not length.isdigit():
            raise invalid("The Content-Length is not a number.")
        if int(length) > MAX_BODY_BYTES:
            raise invalid(f"Request payload size exceeds the limit: {MAX_BODY_BYTES} bytes.")
        return self.rfile.read(int(length))

    def _send_error(self, code: grpc.StatusCode, message: str) -> None:
        http_code = HTTP_CODES.get(code, 500)
        content = {"error": {"code": http_code, "message": message, "status": code.name}}
        self._send(http_code, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")

    def _send(self, code: int, content: bytes) -> None:
        self.close_connection = True
        self.send_response(code)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Requests go to the log, not to standard error."""
        _log.debug(format, *arguments)
