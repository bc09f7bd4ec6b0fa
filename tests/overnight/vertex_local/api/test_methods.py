import re

import pytest
from google.cloud.aiplatform_v1.services.job_service import JobServiceClient

from overnight.vertex_local.api.methods import load_methods
from overnight.vertex_local.api.transcoding import Routes

METHODS = load_methods()
ROUTES = Routes(METHODS)


@pytest.mark.parametrize(
    ("service", "count"),
    [
        ("JobService", 35),
        ("PersistentResourceService", 6),
        ("ScheduleService", 7),
        ("PipelineService", 12),
        ("ModelService", 19),
        ("MetadataService", 32),
        ("TensorboardService", 30),
        ("EndpointService", 9),
        ("Operations", 5),
    ],
)
def test_every_method_of_a_service_is_known(service, count):
    """The numbers are those of google-cloud-aiplatform 2.7."""
    assert sum(method.service == service for method in METHODS.values()) == count


def test_methods_have_the_messages_their_clients_send():
    method = METHODS["/google.cloud.aiplatform.v1.JobService/CreateCustomJob"]
    assert method.request.DESCRIPTOR.full_name == "google.cloud.aiplatform.v1.CreateCustomJobRequest"
    assert method.response.DESCRIPTOR.full_name == "google.cloud.aiplatform.v1.CustomJob"
    assert METHODS["/google.cloud.aiplatform.v1.ModelService/UploadModel"].response.DESCRIPTOR.name == "Operation"
    assert METHODS["/google.cloud.aiplatform.v1.JobService/CancelCustomJob"].response.DESCRIPTOR.name == "Empty"
    assert METHODS["/google.cloud.aiplatform.v1.TensorboardService/ReadTensorboardBlobData"].streams
    assert JobServiceClient.create_custom_job  # the client whose method it is


def rules():
    for method in METHODS.values():
        for rule in method.rules:
            yield pytest.param(method, rule, id=f"{method.key} {rule.verb} {rule.uri}")


@pytest.mark.parametrize(("method", "rule"), list(rules()))
def test_every_rest_rule_leads_back_to_its_method(method, rule):
    """`*` as an id with all that ids may hold; `**` as several parts of a name."""
    given = {}

    def fill(match):
        given[match[1]] = match[2].replace("**", "projects/p/locations/l").replace("*", "a-1_b@2")
        return given[match[1]]

    path = re.sub(r"\{([\w.]+)=([^}]*)\}", fill, rule.uri)
    route, found = ROUTES.find(rule.verb, path)
    assert (route.method.key, found) == (method.key, given)
