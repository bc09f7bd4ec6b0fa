"""Long-running operations: what a method answers whose work may take a while."""

import random
import threading
import time
from collections.abc import Mapping
from typing import Any

import grpc
from google.longrunning import operations_pb2
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from overnight.vertex_local.api.errors import ApiError, invalid
from overnight.vertex_local.state.clock import Clock
from overnight.vertex_local.state.store import Messages, Store

_KIND = "google.longrunning.Operation"

LONGEST_WAIT = 10.0
"""Seconds that WaitOperation holds a thread at most; the method is allowed to answer early."""

_LOOK_AGAIN = 0.1
"""Seconds after which a waiting thread looks even if nothing was announced."""


class Operations:
    """Operations are kept like resources: they are there after a restart, until somebody deletes them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._finished = threading.Condition()

    def done(self, response: Message, parent: str, metadata: Message | None = None) -> Any:
        """An operation that is over already, with its response; `parent` is a location or a resource's name."""
        return self.finish(self.start(parent, metadata), response)

    def start(self, parent: str, metadata: Message | None = None) -> str:
        """Begin an operation; returns its name (`get` has the message to answer with).

        `metadata` is the method's own message (such as UploadModelOperationMetadata); its times are filled in.
        """
        name = f"{parent}/operations/{random.getrandbits(62)}"
        operation = operations_pb2.Operation(name=name)
        if metadata is not None:
            self._stamp(metadata, "create_time", "update_time")
            operation.metadata.Pack(metadata)
        self._store.insert(name, _KIND, operation)
        return name

    def finish(self, name: str, outcome: Message | ApiError) -> Any:
        """End an operation with its response or an error; returns its message. One that is over stays as it is."""

        def change(operation: Any) -> None:
            if operation.done:
                return
            operation.done = True
            if isinstance(outcome, ApiError):
                operation.error.code = outcome.code.value[0]
                operation.error.message = outcome.message
            else:
                operation.response.Pack(outcome)

        operation = self._store.update(name, change)
        with self._finished:
            self._finished.notify_all()
        return operation

    def get(self, name: str) -> Any:
        """The operation; raises ApiError NOT_FOUND."""
        return self._store.get(name)

    def wait(self, name: str, seconds: float) -> Any:
        """The operation as soon as it is over, or after `seconds`."""
        until = time.monotonic() + seconds
        while True:
            operation = self.get(name)
            left = until - time.monotonic()
            if operation.done or left <= 0:
                return operation
            # The store is never asked under this lock: `finish` may come from inside a transaction.
            with self._finished:
                self._finished.wait(min(left, _LOOK_AGAIN))

    def cancel(self, name: str) -> None:
        """End an operation with CANCELLED. The work behind it may notice, or may be too late."""
        self.finish(name, ApiError(grpc.StatusCode.CANCELLED, "The operation was cancelled."))

    def list(self, parent: str) -> Messages:
        """The operations right under `parent`, newest first."""
        return self._store.list(parent, _KIND)[::-1]

    def handlers(self) -> Mapping[str, Any]:
        """The methods of google.longrunning.Operations."""
        return {
            "Operations/GetOperation": lambda request: self.get(request.name),
            "Operations/ListOperations": self._list_operations,
            "Operations/WaitOperation": self._wait_operation,
            "Operations/CancelOperation": self._cancel_operation,
            "Operations/DeleteOperation": self._delete_operation,
        }

    def _list_operations(self, request: Any) -> Any:
        if request.filter:
            raise invalid("Filters on operations are not supported.")
        return operations_pb2.ListOperationsResponse(operations=self.list(request.name.removesuffix("/operations")))

    def _wait_operation(self, request: Any) -> Any:
        asked = request.timeout.ToNanoseconds() / 1e9 if request.HasField("timeout") else LONGEST_WAIT
        return self.wait(request.name, min(asked, LONGEST_WAIT))

    def _cancel_operation(self, request: Any) -> Any:
        self.cancel(request.name)
        return Empty()

    def _delete_operation(self, request: Any) -> Any:
        self._store.delete(request.name)
        return Empty()

    def _stamp(self, metadata: Any, *fields: str) -> None:
        if "generic_metadata" in metadata.DESCRIPTOR.fields_by_name:
            for field in fields:
                getattr(metadata.generic_metadata, field).CopyFrom(self._clock.timestamp())
