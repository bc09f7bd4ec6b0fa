import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as v1

from vertex_support import NUMBERED, PARENT


@pytest.fixture
def endpoints(connect):
    return connect(v1.EndpointServiceClient)


def create(endpoints, **fields):
    request = {"parent": PARENT, "endpoint": {"display_name": "x"}, **fields}
    return endpoints.create_endpoint(request=request).result(timeout=5)


def test_an_endpoint_is_created_updated_and_deleted(connect, wire):
    endpoints = connect(v1.EndpointServiceClient, wire)
    made = create(endpoints)
    made.labels = {"team": "vision"}
    assert endpoints.update_endpoint(endpoint=made, update_mask={"paths": ["labels"]}).labels == {"team": "vision"}
    endpoints.delete_endpoint(name=made.name).result(timeout=5)
    with pytest.raises(exceptions.NotFound):
        endpoints.get_endpoint(name=made.name)


def test_ids_may_be_chosen_and_filtered_by(endpoints):
    create(endpoints)
    assert create(endpoints, endpoint_id="animals").name == f"{NUMBERED}/endpoints/animals"
    found = endpoints.list_endpoints(request={"parent": PARENT, "filter": "endpoint=animals"})
    assert [endpoint.name for endpoint in found] == [f"{NUMBERED}/endpoints/animals"]


@pytest.mark.parametrize("endpoint_id", ["Animals", "-a", "a-", "a_b"])
def test_an_id_that_cannot_be_is_refused(endpoints, endpoint_id):
    with pytest.raises(exceptions.InvalidArgument, match="endpoint_id"):
        create(endpoints, endpoint_id=endpoint_id)


def test_nothing_is_deployed_and_the_answer_says_why(connect, wire):
    endpoints = connect(v1.EndpointServiceClient, wire)
    with pytest.raises(exceptions.MethodNotImplemented, match="predict with a job instead"):
        endpoints.deploy_model(endpoint=f"{PARENT}/endpoints/1", deployed_model={"model": f"{PARENT}/models/1"})
