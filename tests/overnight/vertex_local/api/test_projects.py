import pytest
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api.projects import Projects

PROJECTS = Projects("demo", "123456789012")


@pytest.mark.parametrize(
    ("request_", "read", "expected"),
    [
        (
            v1.ListCustomJobsRequest(parent="projects/demo/locations/l"),
            lambda r: r.parent,
            "projects/123456789012/locations/l",
        ),
        (
            v1.ListArtifactsRequest(filter='in_context("projects/demo/locations/l/x")'),
            lambda r: r.filter,
            'in_context("projects/123456789012/locations/l/x")',
        ),
        (
            v1.UpdateArtifactRequest(artifact={"name": "projects/demo/a", "uri": "projects/demo/a"}),
            lambda r: (r.artifact.name, r.artifact.uri),
            ("projects/123456789012/a", "projects/demo/a"),
        ),
        (
            v1.AddExecutionEventsRequest(execution="projects/demo/e", events=[{"artifact": "projects/demo/a"}]),
            lambda r: (r.execution, r.events[0].artifact),
            ("projects/123456789012/e", "projects/123456789012/a"),
        ),
        (
            v1.AddContextChildrenRequest(child_contexts=["projects/demo/a", "projects/9/b"]),
            lambda r: list(r.child_contexts),
            ["projects/123456789012/a", "projects/9/b"],
        ),
        (
            v1.BatchCreateTensorboardRunsRequest(requests=[{"parent": "projects/demo/t"}]),
            lambda r: r.requests[0].parent,
            "projects/123456789012/t",
        ),
        (
            v1.CreateCustomJobRequest(
                custom_job={"job_spec": {"worker_pool_specs": [{"container_spec": {"args": ["projects/demo/x"]}}]}}
            ),
            lambda r: r.custom_job.job_spec.worker_pool_specs[0].container_spec.args[0],
            "projects/demo/x",
        ),
    ],
)
def test_names_get_the_number_and_nothing_else_does(request_, read, expected):
    message = type(request_).pb(request_)
    PROJECTS.rewrite(message)
    assert read(message) == expected


def test_every_project_has_one_number_of_twelve_digits():
    numbers = {project: PROJECTS.number(project) for project in ("a", "b", "overnight-prod")}
    assert len(set(numbers.values())) == 3
    assert all(number.isdigit() and len(number) == 12 for number in numbers.values())
    assert PROJECTS.number("a") == numbers["a"]


def test_a_number_stays():
    assert PROJECTS.number("42") == "42"
