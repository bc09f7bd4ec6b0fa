import pytest
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api.errors import ApiError
from overnight.vertex_local.api.methods import load_methods
from overnight.vertex_local.api.transcoding import Routes, to_json, to_request

ROUTES = Routes(load_methods())
JOBS = "/v1/projects/p/locations/l/customJobs"
ENDPOINT = "/v1/projects/p/locations/l/endpoints/7"


def request(verb, path, query=(), body=b""):
    route, variables = ROUTES.find(verb, path)
    return to_request(route, variables, query, body)


def test_the_body_is_the_field_that_the_rule_names():
    found = request("POST", JOBS, body=b'{"displayName": "x", "jobSpec": {"workerPoolSpecs": [{"replicaCount": "2"}]}}')
    assert found.parent == "projects/p/locations/l"
    assert found.custom_job.job_spec.worker_pool_specs[0].replica_count == 2


def test_a_custom_verb_is_not_part_of_an_id():
    route, variables = ROUTES.find("POST", f"{JOBS}/5:cancel")
    assert (route.method.name, variables["name"]) == ("CancelCustomJob", "projects/p/locations/l/customJobs/5")


def test_names_are_percent_decoded_after_they_are_taken_apart():
    assert ROUTES.find("GET", f"{JOBS}/a%20b")[1]["name"].endswith("/a b")


@pytest.mark.parametrize(
    "query",
    [
        [("pageSize", "5"), ("filter", "a=b"), ("readMask", "displayName,jobSpec.baseOutputDirectory")],
        [("page_size", "5"), ("filter", "a=b"), ("read_mask", "display_name,job_spec.base_output_directory")],
        [
            ("pageSize", "5"),
            ("filter", "a=b"),
            ("readMask", "displayName"),
            ("readMask", "jobSpec.baseOutputDirectory"),
        ],
        [
            ("pageSize", "5"),
            ("filter", "a=b"),
            ("readMask", "displayName"),
            ("readMask", "job_spec.base_output_directory"),
            ("$alt", "json;enum-encoding=int"),
            ("key", "x"),
        ],
    ],
)
def test_query_parameters_may_be_written_either_way(query):
    found = request("GET", JOBS, query)
    assert (found.page_size, found.filter) == (5, "a=b")
    assert list(found.read_mask.paths) == ["display_name", "job_spec.base_output_directory"]


def test_query_parameters_reach_into_messages_and_have_their_types():
    found = request(
        "PATCH", "/v1/projects/p/locations/l/metadataStores/d/contexts/c", [("allowMissing", "true")], b"{}"
    )
    assert found.allow_missing is True
    assert found.context.name.endswith("/contexts/c")


@pytest.mark.parametrize(
    ("query", "body", "says"),
    [
        ([("pageSiz", "5")], b"", "Cannot bind query parameter. Field 'pageSiz' could not be found"),
        ([("pageSize", "many")], b"", "Invalid JSON payload received"),
        ([("readMask.nothing", "x")], b"", "Cannot bind"),
        ([], b'{"displayName": "x"}', "takes no body"),
    ],
)
def test_a_query_that_does_not_fit_is_refused(query, body, says):
    with pytest.raises(ApiError, match=says):
        request("GET", JOBS, query, body)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"{", "Invalid JSON payload received"),
        (b"\xff", "Invalid JSON payload received"),
        (b"[1]", "Root element must be a message"),
        (b'{"nothing": 1}', 'no field named "nothing"'),
        (b'{"labels": 3}', "Invalid JSON payload received"),
        (b"[" * 100_000, "Invalid JSON payload received"),
    ],
)
def test_a_body_that_does_not_fit_is_refused(body, says):
    with pytest.raises(ApiError, match=says):
        request("POST", JOBS, body=body)


def test_the_url_wins_over_the_body():
    assert (
        request("PATCH", ENDPOINT, body=b'{"name": "projects/x/locations/y/endpoints/z"}').endpoint.name == ENDPOINT[4:]
    )


def test_answers_name_enums_and_leave_defaults_out():
    job = v1.CustomJob.pb(v1.CustomJob(display_name="x", state="JOB_STATE_RUNNING"))
    assert to_json(job) == b'{\n  "displayName": "x",\n  "state": "JOB_STATE_RUNNING"\n}\n'


def test_an_unknown_url_is_not_served():
    with pytest.raises(ApiError, match="not served"):
        ROUTES.find("GET", "/v1/projects/p/locations/l/datasets")


def test_reserved_words_have_the_api_s_names():
    event = v1.Event.pb(v1.Event(artifact="a", type_="INPUT"))
    assert b'"type": "INPUT"' in to_json(event)
    path = "/v1/projects/p/locations/l/metadataStores/d/executions/e:addExecutionEvents"
    found = request("POST", path, body=b'{"events": [{"artifact": "a", "type": "INPUT"}]}')
    assert found.events[0].type_ == 1
