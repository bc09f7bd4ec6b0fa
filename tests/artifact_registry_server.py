"""Artifact Registry's gRPC API on loopback, as far as tags and versions go; keeps every request whole."""

from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.cloud import artifactregistry_v1 as v1
from google.protobuf import json_format

SERVICE = "google.devtools.artifactregistry.v1.ArtifactRegistry"
METHODS = {
    "GetTag": (v1.GetTagRequest, v1.Tag),
    "ListTags": (v1.ListTagsRequest, v1.ListTagsResponse),
    "GetVersion": (v1.GetVersionRequest, v1.Version),
    "GetPackage": (v1.GetPackageRequest, v1.Package),
    "GetRepository": (v1.GetRepositoryRequest, v1.Repository),
}


@dataclass
class ArtifactRegistryServer:
    """Resources by name, and what was asked for."""

    address: str = ""
    resources: dict[str, dict[str, Any]] = field(default_factory=dict)
    """JSON of repositories, packages, tags and versions by resource name."""
    failures: list[tuple[str, grpc.StatusCode, str]] = field(default_factory=list)
    """METHOD (`*`: all), code and message; used up one a call."""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """METHOD and the request as JSON."""

    def add_image(self, package: str, digest: str, *tags: str, media_type: str | None = None) -> None:
        """An image with its repository; `package` is projects/P/locations/L/repositories/R/packages/I."""
        repository = package.rpartition("/packages/")[0]
        version = f"{package}/versions/{digest}"
        metadata = {"imageSizeBytes": "7", "name": f"{package}@{digest}"}
        self.resources[repository] = {"name": repository, "format": "DOCKER"}
        self.resources[package] = {"name": package}
        self.resources[version] = {
            "name": version,
            "metadata": metadata if media_type is None else {**metadata, "mediaType": media_type},
        }
        for tag in tags:
            name = f"{package}/tags/{tag}"
            self.resources[name] = {"name": name, "version": version}

    def call(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        message = json_format.MessageToDict(type(request).pb(request))
        self.requests.append((method, message))
        for position, (name, code, details) in enumerate(self.failures):
            if name in (method, "*"):
                del self.failures[position]
                context.abort(code, details)
        if method == "ListTags":
            if request.parent not in self.resources:
                context.abort(grpc.StatusCode.NOT_FOUND, "Requested entity was not found.")
            tags = [
                value for name, value in sorted(self.resources.items()) if name.startswith(f"{request.parent}/tags/")
            ]
            return v1.ListTagsResponse({"tags": tags})
        if request.name not in self.resources:
            context.abort(grpc.StatusCode.NOT_FOUND, "Requested entity was not found.")
        return METHODS[method][1](self.resources[request.name])


@contextmanager
def running_artifact_registry() -> Iterator[ArtifactRegistryServer]:
    """The API until the block ends."""
    state = ArtifactRegistryServer()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, _handlers(state)),))
    state.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield state
    finally:
        server.stop(None)


def _handlers(state: ArtifactRegistryServer) -> dict[str, Any]:
    def handler(method: str) -> Any:
        asked, answered = METHODS[method]
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: state.call(method, request, context),
            request_deserializer=asked.deserialize,
            response_serializer=answered.serialize,
        )

    return {method: handler(method) for method in METHODS}
