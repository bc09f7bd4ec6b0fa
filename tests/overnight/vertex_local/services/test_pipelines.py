"""Pipeline jobs of a running server, from compiled specifications."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from google.api_core import exceptions

from vertex_studies import PARENT, Vertex, until

SPECS = Path(__file__).parents[1] / "pipelines" / "specs"
ENDED = ("PIPELINE_STATE_SUCCEEDED", "PIPELINE_STATE_FAILED", "PIPELINE_STATE_CANCELLED")
FAIL_FAST = "PIPELINE_FAILURE_POLICY_FAIL_FAST"
TEMPLATE = "https://europe-west4-kfp.pkg.dev/p/pipelines/weekly"


@pytest.fixture(scope="module")
def vertex(tmp_path_factory):
    templates = tmp_path_factory.mktemp("templates")
    folder = templates / "p" / "pipelines" / "weekly"
    folder.mkdir(parents=True)
    (folder / "v1.yaml").write_text((SPECS / "weekly.json").read_text())
    (folder / "broken.yaml").write_text("- 1")
    vertex = Vertex.start(tmp_path_factory.mktemp("vertex"), templates=templates)
    yield vertex
    vertex.stop()


def load(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads((SPECS / f"{name}.json").read_text())
    return spec


def message(spec: dict[str, Any], parameters: dict[str, Any], **config: Any) -> dict[str, Any]:
    return {
        "display_name": "weekly",
        "pipeline_spec": spec,
        "runtime_config": {"gcs_output_directory": "gs://runs/weekly", "parameter_values": parameters, **config},
    }


def create(vertex: Vertex, job: dict[str, Any], **request: Any) -> str:
    name: str = vertex.pipelines.create_pipeline_job(parent=PARENT, pipeline_job=job, **request).name
    return name


def get(vertex: Vertex, name: str) -> Any:
    return vertex.pipelines.get_pipeline_job(name=name)


def finish(vertex: Vertex, job: dict[str, Any], **request: Any) -> Any:
    name = create(vertex, job, **request)
    until(lambda: get(vertex, name).state.name in ENDED)
    return get(vertex, name)


def tasks(job: Any) -> dict[str, Any]:
    return {detail.task_unique_name: detail for detail in job.job_detail.task_details}


def states(job: Any) -> dict[str, str]:
    return {name.rsplit("/", 1)[-1]: detail.state.name for name, detail in tasks(job).items()}


def with_command(spec: dict[str, Any], executor: str, *command: str) -> dict[str, Any]:
    spec["deploymentSpec"]["executors"][executor]["container"]["command"] = list(command)
    return spec


def test_a_pipeline_runs_from_its_specification_to_its_outputs(vertex: Vertex) -> None:
    job = finish(vertex, message(load("weekly"), {"week": "20261130", "epochs": 2}), pipeline_job_id="weekly-1")
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert set(states(job).values()) == {"SUCCEEDED"}
    train = tasks(job)["exit-handler-1/train"]
    assert train.execution.metadata["output:accuracy"] == 0.75
    assert train.execution.metadata["input:label"] == "week-20261130"
    (model,) = train.outputs["model"].artifacts
    project = job.name.split("/")[1]
    assert model.uri == f"gs://runs/weekly/{project}/weekly-1/train_{train.task_id}/model"
    assert model.schema_title == "system.Model"
    written = vertex.bucket(model.uri.removeprefix("gs://")).read_text()
    assert written == "rows of 20261130\nweek-20261130 epochs=2 no-note " + model.uri + "\n"
    released = tasks(job)["exit-handler-1/condition-1/release"]
    assert released.execution.metadata["output:released"] == "rows of 20261130"
    assert train.parent_task_id == tasks(job)["exit-handler-1"].task_id
    assert job.create_time <= job.start_time <= train.start_time <= train.end_time <= job.end_time


def test_each_step_is_a_custom_job(vertex: Vertex) -> None:
    job = finish(vertex, {**message(load("weekly"), {"week": "w"}), "labels": {"run": "1"}})
    container = tasks(job)["exit-handler-1/train"].executor_detail.container_detail
    step = vertex.jobs.get_custom_job(name=container.main_job)
    assert step.state.name == "JOB_STATE_SUCCEEDED"
    assert step.labels["run"] == "1"
    spec = step.job_spec.worker_pool_specs[0]
    assert spec.container_spec.image_uri == "us-docker.pkg.dev/p/r/kit@sha256:aaaa"
    assert (spec.container_spec.env[0].name, spec.container_spec.env[0].value) == ("EPOCHS", "3")


def test_a_failing_step_fails_the_pipeline_and_the_exit_handler_hears_of_it(vertex: Vertex) -> None:
    spec = with_command(load("weekly"), "exec-snapshot", "sh", "-c", "exit 4")
    job = finish(vertex, message(spec, {"week": "w"}))
    assert job.state.name == "PIPELINE_STATE_FAILED"
    assert job.error.message == "The DAG failed because some tasks failed. The failed tasks are: [snapshot]."
    assert "non-zero status of 4" in tasks(job)["exit-handler-1/snapshot"].error.message
    assert states(job)["train"] == "NOT_TRIGGERED"
    assert tasks(job)["report"].execution.metadata["output:seen"]["state"] == "FAILED"


def test_a_step_is_tried_again_by_its_retry_policy(vertex: Vertex, tmp_path: Path) -> None:
    counter = tmp_path / "tries"
    script = f'echo x >> {counter}; [ $(wc -l < {counter}) = 3 ] && echo 0.9 > "$0" && cp "$1" "$2"'
    job = finish(vertex, message(with_command(load("weekly"), "exec-train", "sh", "-c", script), {"week": "w"}))
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
    train = tasks(job)["exit-handler-1/train"]
    assert len(train.executor_detail.container_detail.failed_main_jobs) == 2
    assert train.execution.metadata["output:accuracy"] == 0.9


def test_a_condition_that_does_not_hold_leaves_its_tasks_out(vertex: Vertex) -> None:
    job = finish(vertex, message(load("weekly"), {"week": "w", "threshold": 0.99}))
    assert states(job)["condition-1"] == "NOT_TRIGGERED"
    assert "release" not in states(job)
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED"


def test_fail_fast_starts_no_new_step(vertex: Vertex) -> None:
    spec = with_command(load("weekly"), "exec-snapshot", "false")
    exit_handler = spec["components"]["comp-exit-handler-1"]["dag"]["tasks"]
    slow = json.loads(json.dumps(spec["deploymentSpec"]["executors"]["exec-report"]))
    slow["container"] = {"image": "i", "command": ["sleep", "0.5"]}
    spec["deploymentSpec"]["executors"]["exec-slow"] = slow
    spec["components"]["comp-slow"] = {"executorLabel": "exec-slow"}
    exit_handler["slow"] = {"componentRef": {"name": "comp-slow"}, "taskInfo": {"name": "slow"}}
    exit_handler["later"] = {**exit_handler["slow"], "dependentTasks": ["slow"]}
    job = finish(vertex, message(spec, {"week": "w"}, failure_policy=FAIL_FAST))
    found = states(job)
    assert (found["slow"], found["later"], found["report"]) == ("SUCCEEDED", "NOT_TRIGGERED", "SUCCEEDED")


def test_a_loop_collects_what_its_iterations_put_out(vertex: Vertex) -> None:
    job = finish(vertex, message(load("loop"), {"rates": [{"n": 1}, {"n": 20}, {"n": 300}]}))
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert tasks(job)["add"].execution.metadata["input:numbers"] == [2, 40, 600]
    assert tasks(job)["root"].execution.metadata["output:total"] == 642


def test_an_importer_and_branches_run(vertex: Vertex) -> None:
    job = finish(vertex, message(load("branches"), {"side": "heads"}))
    say = tasks(job)["say"]
    log = vertex.server.world.engine.files.read_log(say.executor_detail.container_detail.main_job).entries
    assert [entry.message for entry in log if entry.replica == "workerpool0-0"] == ["a head gs://bucket/base"]
    assert tasks(job)["importer"].outputs["artifact"].artifacts[0].metadata["from"] == "elsewhere"


def test_a_program_may_write_kfps_own_output_file(vertex: Vertex) -> None:
    program = (
        "import json, sys; given = json.loads(sys.argv[1]); outputs = given['outputs'];"
        "open(outputs['outputFile'], 'w').write(json.dumps({'parameterValues': {'accuracy': 0.8},"
        " 'artifacts': {'model': {'artifacts': [{'metadata': {'framework': 'torch'}}]}}}))"
    )
    spec = with_command(load("weekly"), "exec-train", "python", "-c", program)
    spec["deploymentSpec"]["executors"]["exec-train"]["container"]["args"] = ["{{$}}"]
    spec = with_command(spec, "exec-release", "true")
    job = finish(vertex, message(spec, {"week": "w"}))
    train = tasks(job)["exit-handler-1/train"]
    assert train.execution.metadata["output:accuracy"] == 0.8
    assert train.outputs["model"].artifacts[0].metadata["framework"] == "torch"
    assert train.outputs["model"].artifacts[0].uri.endswith("/model")


def test_an_output_of_another_type_fails_the_step(vertex: Vertex) -> None:
    spec = with_command(load("weekly"), "exec-snapshot", "sh", "-c", 'echo many > "$2"')
    job = finish(vertex, message(spec, {"week": "w"}))
    says = tasks(job)["exit-handler-1/snapshot"].error.message
    assert says == "The output parameter rows: 'many' is not of type NUMBER_INTEGER."


def test_cancelling_ends_the_running_step_and_starts_no_other(vertex: Vertex) -> None:
    name = create(
        vertex, message(with_command(load("weekly"), "exec-snapshot", "sh", "-c", "exec sleep 60"), {"week": "w"})
    )
    until(lambda: get(vertex, name).state.name == "PIPELINE_STATE_RUNNING")
    step = tasks(get(vertex, name))["exit-handler-1/snapshot"].executor_detail.container_detail.main_job
    until(lambda: vertex.jobs.get_custom_job(name=step).state.name == "JOB_STATE_RUNNING")
    vertex.pipelines.cancel_pipeline_job(name=name)
    until(lambda: get(vertex, name).state.name in ENDED)
    job = get(vertex, name)
    assert job.state.name == "PIPELINE_STATE_CANCELLED"
    assert job.error.message == "The pipeline job was cancelled."
    assert vertex.jobs.get_custom_job(name=step).state.name == "JOB_STATE_CANCELLED"
    vertex.pipelines.delete_pipeline_job(name=name).result(timeout=5)


def test_a_step_that_waits_for_a_job_does_not_keep_it_out(tmp_path: Path) -> None:
    vertex = Vertex.start(tmp_path / "vertex", machine_slots=1)
    try:
        name = create(
            vertex, message(with_command(load("weekly"), "exec-snapshot", "sh", "-c", "exec sleep 30"), {"week": "w"})
        )
        until(lambda: states(get(vertex, name)).get("snapshot") == "RUNNING")
        spec = {"worker_pool_specs": [{"machine_spec": {"machine_type": "n1-standard-4"}, "replica_count": 1}]}
        spec["worker_pool_specs"][0]["container_spec"] = {"image_uri": "i", "command": ["true"]}
        job = vertex.jobs.create_custom_job(parent=PARENT, custom_job={"display_name": "j", "job_spec": spec})
        until(lambda: vertex.jobs.get_custom_job(name=job.name).state.name == "JOB_STATE_SUCCEEDED")
        assert states(get(vertex, name))["snapshot"] == "RUNNING"
    finally:
        vertex.stop()


def test_a_new_server_goes_on_where_the_old_one_stopped(tmp_path: Path) -> None:
    vertex = Vertex.start(tmp_path / "vertex")
    name = create(vertex, message(load("loop"), {"rates": [{"n": n} for n in range(8)]}))
    until(lambda: any(detail.state.name == "SUCCEEDED" for detail in get(vertex, name).job_detail.task_details))
    vertex.stop()
    vertex = Vertex.start(tmp_path / "vertex")
    try:
        until(lambda: get(vertex, name).state.name in ENDED)
        job = get(vertex, name)
        assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
        assert tasks(job)["root"].execution.metadata["output:total"] == 56
    finally:
        vertex.stop()


def digest() -> str:
    return hashlib.sha256((SPECS / "weekly.json").read_bytes()).hexdigest()


@pytest.mark.parametrize("version", ["v1", "sha256"])
def test_a_template_is_found_by_tag_and_by_digest(vertex: Vertex, version: str) -> None:
    uri = f"{TEMPLATE}/{'v1' if version == 'v1' else 'sha256:' + digest()}"
    job = {**message({}, {"week": "w"}), "template_uri": uri}
    del job["pipeline_spec"]
    made = finish(vertex, job)
    assert made.state.name == "PIPELINE_STATE_SUCCEEDED"
    assert made.template_metadata.version == f"sha256:{digest()}"


@pytest.mark.parametrize(
    ("uri", "error"),
    [
        (f"{TEMPLATE}/v2", exceptions.NotFound),
        (f"{TEMPLATE}/sha256:{'0' * 64}", exceptions.NotFound),
        (f"{TEMPLATE}/broken", exceptions.InvalidArgument),
        ("https://europe-west4-kfp.pkg.dev/p/../weekly/v1", exceptions.InvalidArgument),
        ("gs://templates/weekly.yaml", exceptions.InvalidArgument),
    ],
)
def test_a_template_that_is_not_there_is_refused(vertex: Vertex, uri: str, error: type[Exception]) -> None:
    job = {"runtime_config": {"gcs_output_directory": "gs://b/r"}, "template_uri": uri}
    with pytest.raises(error):
        create(vertex, job)


@pytest.mark.parametrize(
    ("job", "request_", "says"),
    [
        (message(load("weekly"), {}), {}, "week"),
        (message(load("weekly"), {"week": 1}), {}, "not of type STRING"),
        (message({**load("weekly"), "schemaVersion": "2.0.0"}, {"week": "w"}), {}, "2.0.0"),
        (message({}, {}), {}, "pipeline_spec"),
        ({"pipeline_spec": load("weekly")}, {}, "gcs_output_directory"),
        (message({**load("weekly"), "components": {"comp": 3}}, {"week": "w"}), {}, "not what the KFP compiler writes"),
        (message(load("weekly"), {"week": "w"}), {"pipeline_job_id": "Weekly"}, "pipeline_job_id"),
    ],
)
def test_a_job_that_cannot_run_is_refused(vertex: Vertex, job: dict, request_: dict, says: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=says):
        create(vertex, job, **request_)


def test_a_job_whose_input_artifact_is_not_there_fails(vertex: Vertex) -> None:
    job = finish(vertex, message(load("loop"), {"rates": []}, input_artifacts={"data": {"artifact_id": "gone"}}))
    assert job.state.name == "PIPELINE_STATE_FAILED"
    assert "metadataStores/default/artifacts/gone does not exist" in job.error.message


def test_a_loop_over_what_is_no_json_fails(vertex: Vertex) -> None:
    spec = load("loop")
    spec["root"]["dag"]["tasks"]["for-loop-1"]["parameterIterator"]["items"] = {"raw": "[1,"}
    job = finish(vertex, message(spec, {"rates": []}))
    assert states(job)["for-loop-1"] == "FAILED"


def test_an_id_is_given_once(vertex: Vertex) -> None:
    finish(vertex, message(load("loop"), {"rates": []}), pipeline_job_id="once")
    with pytest.raises(exceptions.AlreadyExists):
        create(vertex, message(load("loop"), {"rates": []}), pipeline_job_id="once")


def test_jobs_are_listed_without_their_details_and_deleted_together(vertex: Vertex) -> None:
    jobs = [finish(vertex, {**message(load("loop"), {"rates": []}), "display_name": "listed"}) for _ in range(2)]
    request = {"parent": PARENT, "filter": 'display_name="listed" AND pipeline_name="sweep"'}
    listed = list(vertex.pipelines.list_pipeline_jobs(request=request))
    assert {job.name for job in listed} == {job.name for job in jobs}
    assert {job.state.name for job in listed} == {"PIPELINE_STATE_SUCCEEDED"}
    assert not any(job.job_detail.task_details for job in listed)
    names = [job.name for job in jobs]
    vertex.pipelines.batch_delete_pipeline_jobs(parent=PARENT, names=names).result(timeout=5)
    assert list(vertex.pipelines.list_pipeline_jobs(request=request)) == []
