"""Every RPC of the services served: its path, its messages, its REST rules.

The client package has no servicer classes and no service descriptors, but its transports know each RPC: the gRPC
transport its path and (de)serialisers, the REST transport's base its HTTP rules. We read both.
"""

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.longrunning import operations_pb2
from google.protobuf import empty_pb2
from google.protobuf.message import Message

SERVICES = ("job", "persistent_resource", "schedule", "pipeline", "model", "metadata", "tensorboard", "endpoint")

_PACKAGE = "google.cloud.aiplatform_v1.services"


@dataclass(frozen=True)
class HttpRule:
    """One way to call a method by REST (google.api.http)."""

    verb: str
    """GET, POST, PATCH or DELETE."""
    uri: str
    """`/v1/{parent=projects/*/locations/*}/customJobs`"""
    body: str
    """The request's field that the body is, `*` for the whole request, empty for none."""


@dataclass(frozen=True)
class Method:
    """One RPC."""

    path: str
    """`/google.cloud.aiplatform.v1.JobService/CreateCustomJob`"""
    service: str
    name: str
    request: type[Message]
    response: type[Message]
    rules: tuple[HttpRule, ...]
    streams: bool = False
    """Whether the response is a stream."""

    @property
    def key(self) -> str:
        """`JobService/CreateCustomJob`: what a handler is registered under."""
        return f"{self.service}/{self.name}"


@cache
def load_methods() -> dict[str, Method]:
    """All methods by path. The first call imports the client, which takes about a second."""
    found = [method for service in SERVICES for method in _of_service(service)]
    return {method.path: method for method in [*found, *_operations()]}


class _Recorder:
    """Stands where a transport has its channel and notes the stubs it asks for."""

    def __init__(self) -> None:
        self.calls: dict[str, tuple[Any, Any, bool]] = {}

    def unary_unary(self, path: str, request_serializer: Any = None, response_deserializer: Any = None) -> None:
        self.calls[path] = (request_serializer, response_deserializer, False)

    def unary_stream(self, path: str, request_serializer: Any = None, response_deserializer: Any = None) -> None:
        self.calls[path] = (request_serializer, response_deserializer, True)


def _of_service(service: str) -> Iterator[Method]:
    transports = f"{_PACKAGE}.{service}_service.transports"
    name = "".join(part.title() for part in service.split("_")) + "Service"
    grpc_class = getattr(importlib.import_module(f"{transports}.grpc"), f"{name}GrpcTransport")
    rest_class = getattr(importlib.import_module(f"{transports}.rest_base"), f"_Base{name}RestTransport")
    for path, (serializer, deserializer, streams) in _stubs(grpc_class).items():
        if f".{name}/" in path:
            method = path.rsplit("/", 1)[1]
            rules = _rules(getattr(rest_class, f"_Base{method}", None))
            yield Method(path, name, method, _message(serializer), _message(deserializer), rules, streams)


def _stubs(transport_class: Any) -> dict[str, tuple[Any, Any, bool]]:
    """Ask a transport, made without its constructor, for each of its stubs."""
    recorder = _Recorder()
    transport = transport_class.__new__(transport_class)
    transport._logged_channel = recorder
    transport._stubs = {}
    for name, member in vars(transport_class).items():
        if isinstance(member, property) and name not in ("kind", "operations_client", "grpc_channel"):
            getattr(transport, name)
    return recorder.calls


def _message(serializer: Any) -> type[Message]:
    """The protobuf class behind a (de)serialiser, which is a method of it or of its proto-plus wrapper."""
    for known in (operations_pb2.Operation, empty_pb2.Empty):
        if serializer == known.FromString:
            return known  # type: ignore[no-any-return]
    owner = serializer.__self__
    return owner.pb() if hasattr(owner, "pb") else owner  # type: ignore[no-any-return]


def _rules(base: Any) -> tuple[HttpRule, ...]:
    options = base._get_http_options() if base else []
    return tuple(HttpRule(option["method"].upper(), option["uri"], option.get("body", "")) for option in options)


def _operations() -> Iterator[Method]:
    """google.longrunning.Operations, whose REST names stand below any resource (clients also say /ui/ for /v1/)."""
    name = r"{name=**/operations/*}"
    for method, verb, tail, response in (
        ("GetOperation", "GET", name, operations_pb2.Operation),
        ("ListOperations", "GET", "{name=**}/operations", operations_pb2.ListOperationsResponse),
        ("WaitOperation", "POST", f"{name}:wait", operations_pb2.Operation),
        ("CancelOperation", "POST", f"{name}:cancel", empty_pb2.Empty),
        ("DeleteOperation", "DELETE", name, empty_pb2.Empty),
    ):
        rules = tuple(HttpRule(verb, f"/{root}/{tail}", "*" if verb == "POST" else "") for root in ("v1", "ui"))
        request = getattr(operations_pb2, f"{method}Request")
        yield Method(f"/google.longrunning.Operations/{method}", "Operations", method, request, response, rules)


def pattern_of(template: str) -> str:
    """The regular expression of `projects/*/locations/*`: `*` is one part of a name, `**` several."""
    return re.escape(template).replace(r"\*\*", ".+").replace(r"\*", "[^/]+")
