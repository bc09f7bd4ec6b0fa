import threading
import time

import pytest
from google.cloud import aiplatform_v1 as v1
from google.longrunning import operations_pb2
from google.protobuf.empty_pb2 import Empty
from grpc import StatusCode

from overnight.vertex_local.api.errors import ApiError, failed_precondition
from overnight.vertex_local.state.operations import Operations
from overnight.vertex_local.state.store import Store

PLACE = "projects/1/locations/here"


def test_an_operation_is_open_until_it_is_finished(operations):
    name = operations.start(PLACE)
    assert not operations.get(name).done
    operations.finish(name, v1.Endpoint.pb(v1.Endpoint(display_name="x")))
    found = v1.Endpoint.pb()()
    assert operations.get(name).response.Unpack(found)
    assert found.display_name == "x"


def test_an_error_has_its_code_and_text(operations):
    name = operations.start(PLACE)
    operations.finish(name, failed_precondition("No."))
    assert (operations.get(name).error.code, operations.get(name).error.message) == (9, "No.")


def test_the_first_outcome_stays(operations):
    name = operations.start(PLACE)
    operations.cancel(name)
    operations.finish(name, Empty())
    assert operations.get(name).error.code == StatusCode.CANCELLED.value[0]


def test_metadata_has_times(operations):
    operation = operations.done(Empty(), PLACE, v1.DeleteOperationMetadata.pb()())
    metadata = v1.DeleteOperationMetadata.pb()()
    assert operation.metadata.Unpack(metadata)
    assert metadata.generic_metadata.create_time.seconds > 0


def test_waiting_ends_when_the_operation_does(operations, store):
    name = operations.start(PLACE)

    def finish():
        with store.transaction():  # must not lock out the one that waits
            operations.finish(name, Empty())

    timer = threading.Timer(0.1, finish)
    timer.start()
    began = time.monotonic()
    assert operations.wait(name, 5).done
    assert time.monotonic() - began < 2
    timer.join()


def test_waiting_ends_after_its_time(operations):
    request = operations_pb2.WaitOperationRequest(name=operations.start(PLACE))
    request.timeout.FromMilliseconds(50)
    assert not operations.handlers()["Operations/WaitOperation"](request).done


def test_operations_outlive_the_server(operations, store, clock, tmp_path):
    name = operations.start(PLACE)
    store.close()
    again = Store(tmp_path / "state.sqlite3")
    assert not Operations(again, clock).get(name).done
    again.close()


def test_operations_are_listed_below_what_they_are_of(operations):
    first, second = operations.start(PLACE), operations.start(PLACE)
    operations.start(f"{PLACE}/models/1")
    assert [operation.name for operation in operations.list(PLACE)] == [second, first]


def test_a_deleted_operation_is_gone(operations):
    name = operations.start(PLACE)
    operations.handlers()["Operations/DeleteOperation"](operations_pb2.DeleteOperationRequest(name=name))
    with pytest.raises(ApiError):
        operations.get(name)
