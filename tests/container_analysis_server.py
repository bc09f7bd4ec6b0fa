"""Container Analysis, as far as `ListOccurrences` goes: a gRPC server with the API's own messages, on loopback."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2
from grafeas.grafeas_v1.types import grafeas as messages

METHOD = "ListOccurrences"
PAGE = 2
"""Occurrences a page, so that clients must ask for more."""


@dataclass
class ContainerAnalysis:
    """A running server; `occurrences` may change between calls, `failure` answers every call."""

    occurrences: list[Any] = field(default_factory=list)
    failure: tuple[grpc.StatusCode, str, str] | None = None
    """Code, message, and the reason of an ErrorInfo (empty: none)."""
    requests: list[Any] = field(default_factory=list)
    address: str = ""

    def __enter__(self) -> "ContainerAnalysis":
        self._server = grpc.server(ThreadPoolExecutor(2))
        handler = grpc.unary_unary_rpc_method_handler(
            self._list,
            request_deserializer=messages.ListOccurrencesRequest.pb().FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )
        generic = grpc.method_handlers_generic_handler("grafeas.v1.Grafeas", {METHOD: handler})
        self._server.add_generic_rpc_handlers((generic,))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait()

    def _list(self, request: Any, context: grpc.ServicerContext) -> Any:
        self.requests.append(request)
        if self.failure is not None:
            self._fail(context)
        project = request.parent.removeprefix("projects/")
        fitting = [item for item in self.occurrences if self._fits(item, request.filter, project)]
        start = int(request.page_token or 0)
        rest = str(start + PAGE) if start + PAGE < len(fitting) else ""
        answer = messages.ListOccurrencesResponse(occurrences=fitting[start : start + PAGE], next_page_token=rest)
        return messages.ListOccurrencesResponse.pb(answer)

    @staticmethod
    def _fits(occurrence: Any, filter_: str, project: str) -> bool:
        """The two comparisons that clients make of the API's filter language."""
        wanted = f'resourceUrl="{occurrence.resource_uri}" AND kind="{occurrence.kind.name}"'
        return filter_ == wanted and occurrence.name.startswith(f"projects/{project}/")

    def _fail(self, context: grpc.ServicerContext) -> None:
        assert self.failure is not None
        code, message, reason = self.failure
        if reason:
            status = status_pb2.Status(code=code.value[0], message=message)
            status.details.add().Pack(error_details_pb2.ErrorInfo(reason=reason, domain="googleapis.com"))
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
        context.abort(code, message)
