"""The API over gRPC, plain or with TLS."""

import logging
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc

from overnight.vertex_local.api.certificate import KeyPair
from overnight.vertex_local.api.dispatch import Api
from overnight.vertex_local.api.errors import ApiError
from overnight.vertex_local.api.methods import Method

THREADS = 8
"""Calls carried out at the same time; the others wait."""
MAX_CALLS = 512
"""Calls running or waiting; more are refused with RESOURCE_EXHAUSTED."""
MAX_MESSAGE_BYTES = 10 * 2**20
"""Vertex AI refuses greater requests as well."""

_log = logging.getLogger(__name__)


class GrpcFront:
    """A started gRPC server."""

    def __init__(self, server: Any, port: int) -> None:
        self._server = server
        self.port = port

    def stop(self, grace: float = 1.0) -> None:
        """Take no more calls, and return when those that run are over or after `grace` seconds."""
        self._server.stop(grace).wait()


def serve_grpc(api: Api, address: str, tls: KeyPair | None = None) -> GrpcFront:
    """Listen on `address` (`127.0.0.1:0` for any free port). Raises OSError when the port is taken."""
    options = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]
    pool = futures.ThreadPoolExecutor(THREADS, thread_name_prefix="grpc")
    server = grpc.server(pool, options=options, maximum_concurrent_rpcs=MAX_CALLS)
    server.add_generic_rpc_handlers((_Handlers(api),))
    try:
        if tls is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, grpc.ssl_server_credentials([(tls.key, tls.certificate)]))
    except RuntimeError as error:
        raise OSError(f"cannot listen on {address} ({error})") from None
    server.start()
    return GrpcFront(server, port)


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Finds the method of a call; gRPC itself answers UNIMPLEMENTED for the paths of other services."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def service(self, details: Any) -> Any:
        method = self._api.methods.get(details.method)
        if method is None:
            return None
        make = grpc.unary_stream_rpc_method_handler if method.streams else grpc.unary_unary_rpc_method_handler
        answer = self._stream(method) if method.streams else self._unary(method)
        return make(
            answer,
            request_deserializer=method.request.FromString,
            response_serializer=method.response.SerializeToString,
        )

    def _unary(self, method: Method) -> Any:
        def answer(request: Any, context: Any) -> Any:
            try:
                return self._api.call(method.path, request)
            except Exception as error:  # whatever went wrong, the client gets a status
                return _abort(context, method, error)

        return answer

    def _stream(self, method: Method) -> Any:
        def answer(request: Any, context: Any) -> Iterator[Any]:
            try:
                yield from self._api.call(method.path, request)
            except Exception as error:  # as above
                _abort(context, method, error)

        return answer


def _abort(context: Any, method: Method, error: Exception) -> None:
    if isinstance(error, ApiError):
        context.abort(error.code, error.message)
    _log.error("%s failed", method.key, exc_info=error)
    context.abort(grpc.StatusCode.INTERNAL, f"Internal error in {method.key}: {error!r}")
