"""Cloud Build's GetBuild on loopback, over gRPC and REST: builds by name, and every request it got."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import grpc
from google.auth.credentials import AnonymousCredentials
from google.cloud.devtools import cloudbuild_v1
from google.cloud.devtools.cloudbuild_v1.services.cloud_build.transports import (
    CloudBuildGrpcTransport,
    CloudBuildRestTransport,
)
from google.protobuf import json_format

Wire = Literal["grpc", "rest"]
Build = cloudbuild_v1.Build.pb()
GetBuildRequest = cloudbuild_v1.GetBuildRequest.pb()
STATUSES = {"PERMISSION_DENIED": 403, "UNAUTHENTICATED": 401, "UNAVAILABLE": 503, "INTERNAL": 500, "NOT_FOUND": 404}


@dataclass
class CloudBuild:
    """The service's builds, by name, in the form of its JSON."""

    client: Any = None
    builds: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[Any] = field(default_factory=list)
    """GetBuildRequest messages over gRPC, METHOD and path over REST."""
    failure: tuple[str, str] | None = None
    """Code and message of every answer."""

    def answer(self, name: str) -> tuple[str, str] | dict[str, Any]:
        """A build, or code and message."""
        if self.failure is not None:
            return self.failure
        return self.builds.get(name) or ("NOT_FOUND", "Requested entity was not found.")


@contextmanager
def serving(wire: Wire) -> Iterator[CloudBuild]:
    """A service without builds, and the official client connected to it."""
    service = CloudBuild()
    with (_grpc if wire == "grpc" else _rest)(service) as client:
        service.client = client
        yield service


@contextmanager
def _grpc(service: CloudBuild) -> Iterator[Any]:
    def get(request: Any, context: grpc.ServicerContext) -> Any:
        service.requests.append(request)
        answer = service.answer(request.name)
        if isinstance(answer, tuple):
            context.abort(grpc.StatusCode[answer[0]], answer[1])
        return json_format.ParseDict(answer, Build())

    method = grpc.unary_unary_rpc_method_handler(get, GetBuildRequest.FromString, Build.SerializeToString)
    server = grpc.server(ThreadPoolExecutor(2))
    name = "google.devtools.cloudbuild.v1.CloudBuild"
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"GetBuild": method}),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        transport = CloudBuildGrpcTransport(channel=channel, credentials=AnonymousCredentials())
        yield cloudbuild_v1.CloudBuildClient(transport=transport)
    server.stop(None)


@contextmanager
def _rest(service: CloudBuild) -> Iterator[Any]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            service.requests.append(f"GET {path}")
            answer = service.answer(path.removeprefix("/v1/"))
            status = 200
            if isinstance(answer, tuple):
                status = STATUSES[answer[0]]
                answer = {"error": {"code": status, "message": answer[1], "status": answer[0]}}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        transport = CloudBuildRestTransport(
            host=f"127.0.0.1:{server.server_port}", url_scheme="http", credentials=AnonymousCredentials()
        )
        yield cloudbuild_v1.CloudBuildClient(transport=transport)
        server.shutdown()
