import pytest
from google.cloud import aiplatform_v1 as v1
from google.protobuf.field_mask_pb2 import FieldMask
from grpc import StatusCode

from overnight.vertex_local.api.errors import ApiError
from overnight.vertex_local.state.resource import require

PLACE = "projects/1/locations/here"


@pytest.fixture
def endpoint(resources):
    message = v1.Endpoint(display_name="x", description="d", labels={"a": "b", "c": "d"})
    return resources.create(PLACE, "endpoints", v1.Endpoint.pb(message), "e1")


def changed(name, **fields):
    return v1.Endpoint.pb(v1.Endpoint(name=name, **fields))


def test_a_resource_has_a_name_times_and_an_etag(endpoint):
    assert endpoint.name == f"{PLACE}/endpoints/e1"
    assert endpoint.create_time == endpoint.update_time
    assert endpoint.etag.isdigit()


def test_ids_are_numbers_where_none_is_given(resources):
    made = resources.create(PLACE, "endpoints", v1.Endpoint.pb(v1.Endpoint(display_name="x")))
    assert made.name.rsplit("/", 1)[1].isdigit()


@pytest.mark.parametrize(
    ("paths", "display_name", "description", "labels"),
    [
        (["display_name"], "new", "d", {"a": "b", "c": "d"}),
        (["labels"], "x", "d", {"e": "f"}),
        (["description"], "x", "", {"a": "b", "c": "d"}),
        (["*"], "new", "", {"e": "f"}),
        ([], "new", "d", {"e": "f"}),
    ],
)
def test_the_mask_says_what_is_taken_over(resources, endpoint, paths, display_name, description, labels):
    message = changed(endpoint.name, display_name="new", labels={"e": "f"})
    found = resources.update(message, FieldMask(paths=paths))
    assert (found.display_name, found.description, dict(found.labels)) == (display_name, description, labels)
    assert found.create_time == endpoint.create_time
    assert int(found.etag) > int(endpoint.etag)
    assert resources.get(endpoint.name) == found


@pytest.mark.parametrize(
    "paths", [["nothing"], ["network"], ["labels.a"], ["encryption_spec.nothing"], ["display_name", "network"]]
)
def test_a_mask_with_a_field_that_is_not_there_or_frozen_is_refused(resources, endpoint, paths):
    with pytest.raises(ApiError) as refused:
        resources.update(changed(endpoint.name), FieldMask(paths=paths), frozen=("network",))
    assert refused.value.code is StatusCode.INVALID_ARGUMENT
    assert "update_mask" in refused.value.message


def test_an_old_etag_is_refused_for_update_and_delete(resources, endpoint):
    resources.update(changed(endpoint.name, display_name="y"), FieldMask(paths=["display_name"]))
    with pytest.raises(ApiError) as update:
        resources.update(changed(endpoint.name, etag=endpoint.etag), FieldMask(paths=["display_name"]))
    with pytest.raises(ApiError) as delete:
        resources.delete(endpoint.name, endpoint.etag)
    assert (update.value.code, delete.value.code) == (StatusCode.ABORTED, StatusCode.FAILED_PRECONDITION)
    assert resources.get(endpoint.name).display_name == "y"


def test_every_change_has_an_etag_of_its_own(resources, endpoint):
    seen = {resources.change(endpoint.name, lambda kept: None).etag for _ in range(20)}
    assert len(seen) == 20


@pytest.mark.parametrize(
    "labels",
    [{"Upper": "x"}, {"key": "Upper"}, {"key": "a b"}, {"key": "x" * 65}, {"": "x"}, {f"k{i}": "" for i in range(65)}],
)
def test_labels_that_vertex_ai_refuses_are_refused(resources, labels):
    with pytest.raises(ApiError, match=r"endpoint\.labels"):
        resources.create(PLACE, "endpoints", v1.Endpoint.pb(v1.Endpoint(display_name="x", labels=labels)))


@pytest.mark.parametrize("labels", [{"clé": "été"}, {"a_b-1": ""}, {"aiplatform.googleapis.com/x": "Y"}])
def test_labels_that_vertex_ai_takes_are_taken(resources, labels):
    made = resources.create(PLACE, "endpoints", v1.Endpoint.pb(v1.Endpoint(display_name="x", labels=labels)))
    assert dict(made.labels) == labels


def test_all_missing_fields_are_named_at_once():
    request = v1.CreateEndpointRequest.pb(v1.CreateEndpointRequest(endpoint=v1.Endpoint()))
    with pytest.raises(ApiError) as refused:
        require(request, "parent", "endpoint", "endpoint.display_name")
    assert refused.value.message == (
        "List of found errors:\t1.Field: parent; Message: Required field is not set."
        "\t2.Field: endpoint.display_name; Message: Required field is not set.\t"
    )


def test_a_read_mask_chooses_fields(resources, endpoint):
    request = v1.ListEndpointsRequest.pb(v1.ListEndpointsRequest(parent=PLACE, read_mask={"paths": ["name"]}))
    found = resources.list(request, v1.ListEndpointsResponse.pb()(), "google.cloud.aiplatform.v1.Endpoint")
    assert [message.display_name for message in found.endpoints] == [""]
    assert found.endpoints[0].name == endpoint.name
