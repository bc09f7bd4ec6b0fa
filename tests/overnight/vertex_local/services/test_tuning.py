"""Hyperparameter tuning jobs of a running server."""

import json
import time
from typing import Any

import pytest
from google.api_core import exceptions

from vertex_studies import PARENT, Vertex, pools, until

TRAINER = """
import json, os, sys, time
values = dict(argument[2:].split("=", 1) for argument in sys.argv[1:] if argument.startswith("--"))
path = os.environ["CLOUD_ML_HP_METRIC_FILE"]
with open(path, "w") as file:
    for step, share in enumerate((0.5, 1.5, 1.0), start=1):
        score = share * (1 - (float(values["rate"]) - 0.3) ** 2)
        line = {"timestamp": time.time(), "trial": os.environ["CLOUD_ML_TRIAL_ID"], "score": str(score)}
        file.write(json.dumps({**line, "global_step": str(step), "checkpoint_path": ""}) + "\\n")
print(json.dumps({"arguments": sys.argv[1:], "cluster": json.loads(os.environ["CLUSTER_SPEC"])["task"],
    "model": os.environ.get("AIP_MODEL_DIR"), "file": path}), flush=True)
"""
RATE = {"parameter_id": "rate", "double_value_spec": {"min_value": 0.1, "max_value": 1.0}}
BATCH = {"parameter_id": "batch", "discrete_value_spec": {"values": [16, 32]}}
ENDED = ("JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED", "JOB_STATE_CANCELLED")


@pytest.fixture(scope="module")
def vertex(tmp_path_factory):
    vertex = Vertex.start(tmp_path_factory.mktemp("vertex"), study_seed=7)
    yield vertex
    vertex.stop()


def message(program: str = TRAINER, *, trials: int = 3, parallel: int = 3, failed: int = 0, **study: Any) -> dict:
    return {
        "display_name": "study",
        "max_trial_count": trials,
        "parallel_trial_count": parallel,
        "max_failed_trial_count": failed,
        "study_spec": {
            "metrics": [{"metric_id": "score", "goal": "MAXIMIZE"}],
            "parameters": [RATE],
            **study,
        },
        "trial_job_spec": {
            "worker_pool_specs": pools(program, "--epochs=2"),
            "base_output_directory": {"output_uri_prefix": "gs://models/study"},
            "scheduling": {"disable_retries": True},
        },
    }


def create(vertex: Vertex, job: dict) -> str:
    name: str = vertex.jobs.create_hyperparameter_tuning_job(parent=PARENT, hyperparameter_tuning_job=job).name
    return name


def get(vertex: Vertex, name: str) -> Any:
    return vertex.jobs.get_hyperparameter_tuning_job(name=name)


def finish(vertex: Vertex, job: dict) -> Any:
    name = create(vertex, job)
    until(lambda: get(vertex, name).state.name in ENDED)
    return get(vertex, name)


def said(vertex: Vertex, trial: Any) -> Any:
    entries = vertex.server.world.engine.files.read_log(trial.custom_job).entries
    return json.loads(next(entry.message for entry in entries if entry.replica == "workerpool0-0"))


def test_trials_run_with_their_values_and_their_measurements_are_read(vertex: Vertex) -> None:
    job = finish(vertex, message(parameters=[RATE, BATCH]))
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert [trial.id for trial in job.trials] == ["1", "2", "3"]
    for trial in job.trials:
        values = {each.parameter_id: each.value for each in trial.parameters}
        heard = said(vertex, trial)
        assert heard["arguments"] == ["--epochs=2", f"--rate={values['rate']}", f"--batch={int(values['batch'])}"]
        assert heard["cluster"] == {"type": "workerpool0", "index": 0, "trial": trial.id}
        assert heard["model"] == f"gs://models/study/{trial.id}/model/"
        assert trial.state.name == "SUCCEEDED"
        assert [each.step_count for each in trial.measurements] == [1, 2, 3]
        assert trial.final_measurement.step_count == 3
        assert trial.final_measurement.metrics[0].value == pytest.approx(1 - (values["rate"] - 0.3) ** 2)
        assert 0 <= trial.final_measurement.elapsed_duration.total_seconds() < 20
        assert trial.start_time <= trial.end_time
    assert len({said(vertex, trial)["file"] for trial in job.trials}) == 3
    assert job.create_time <= job.start_time <= job.end_time


def test_the_best_measurement_is_final_when_the_study_says_so(vertex: Vertex) -> None:
    job = finish(vertex, message(trials=1, parallel=1, measurement_selection_type="BEST_MEASUREMENT"))
    assert job.trials[0].final_measurement.step_count == 2


def test_the_same_seed_tries_the_same_points(vertex: Vertex) -> None:
    first, second = (finish(vertex, message(trials=2, parallel=1)) for _ in range(2))
    assert [trial.parameters for trial in first.trials] == [trial.parameters for trial in second.trials]


def test_a_grid_ends_with_its_last_point(vertex: Vertex) -> None:
    rate = {"parameter_id": "rate", "discrete_value_spec": {"values": [0.25, 0.5]}}
    job = finish(vertex, message(trials=5, parallel=2, parameters=[rate], algorithm="GRID_SEARCH"))
    assert [trial.parameters[0].value for trial in job.trials] == [0.25, 0.5]
    assert job.state.name == "JOB_STATE_SUCCEEDED"


def test_a_trial_without_the_metric_is_infeasible_and_the_first_one_ends_the_job(vertex: Vertex) -> None:
    job = finish(vertex, message("print('nothing')", trials=4, parallel=1))
    assert job.state.name == "JOB_STATE_FAILED"
    assert job.error.message == "The first trial failed."
    assert [trial.state.name for trial in job.trials] == ["INFEASIBLE"]
    assert job.trials[0].infeasible_reason == "The trial ended without a measurement of score."


def test_a_job_fails_when_as_many_trials_failed_as_it_says(vertex: Vertex) -> None:
    job = finish(vertex, message("raise SystemExit(3)", trials=6, parallel=1, failed=2))
    assert job.state.name == "JOB_STATE_FAILED"
    assert [trial.state.name for trial in job.trials] == ["INFEASIBLE"] * 2
    assert "non-zero status of 3" in job.trials[0].infeasible_reason
    assert "max_failed_trial_count" in job.error.message


def test_a_failed_trial_among_good_ones_does_not_fail_the_job(vertex: Vertex) -> None:
    flaky = TRAINER + "\nraise SystemExit(os.environ['CLOUD_ML_TRIAL_ID'] == '2')"
    job = finish(vertex, message(flaky, trials=4, parallel=2, failed=2))
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert [trial.state.name for trial in job.trials] == ["SUCCEEDED", "INFEASIBLE", "SUCCEEDED", "SUCCEEDED"]


def test_cancelling_stops_the_trials(vertex: Vertex) -> None:
    name = create(vertex, message("import time; time.sleep(60)", trials=4, parallel=2))
    until(lambda: [trial.state.name for trial in get(vertex, name).trials] == ["ACTIVE"] * 2)
    vertex.jobs.cancel_hyperparameter_tuning_job(name=name)
    until(lambda: get(vertex, name).state.name == "JOB_STATE_CANCELLED")
    job = get(vertex, name)
    assert [trial.state.name for trial in job.trials] == ["INFEASIBLE"] * 2
    states = [vertex.jobs.get_custom_job(name=trial.custom_job).state.name for trial in job.trials]
    assert states == ["JOB_STATE_CANCELLED"] * 2


def test_a_job_that_runs_cannot_be_deleted_and_an_ended_one_can(vertex: Vertex) -> None:
    name = create(vertex, message("import time; time.sleep(60)"))
    with pytest.raises(exceptions.FailedPrecondition):
        vertex.jobs.delete_hyperparameter_tuning_job(name=name)
    vertex.jobs.cancel_hyperparameter_tuning_job(name=name)
    until(lambda: get(vertex, name).state.name == "JOB_STATE_CANCELLED")
    vertex.jobs.delete_hyperparameter_tuning_job(name=name).result(timeout=5)
    with pytest.raises(exceptions.NotFound):
        get(vertex, name)


def test_jobs_are_listed_by_filter(vertex: Vertex) -> None:
    finish(vertex, {**message(trials=1, parallel=1), "display_name": "wanted"})
    request = {"parent": PARENT, "filter": 'display_name="wanted" AND state="JOB_STATE_SUCCEEDED"'}
    assert len(list(vertex.jobs.list_hyperparameter_tuning_jobs(request=request))) == 1


def wrong(**changes: Any) -> dict:
    return {**message(), **changes}


@pytest.mark.parametrize(
    ("job", "says"),
    [
        (wrong(display_name=""), "display_name"),
        (wrong(max_trial_count=0), "max_trial_count"),
        (wrong(parallel_trial_count=9), "parallel_trial_count"),
        (wrong(max_failed_trial_count=9), "max_failed_trial_count"),
        (wrong(trial_job_spec={}), "trial_job_spec.worker_pool_specs"),
        (message(metrics=[]), "metrics"),
        (message(metrics=[{"metric_id": "a b"}]), "whitespace"),
        (message(metrics=[{"metric_id": "a"}, {"metric_id": "a"}]), "not unique"),
        (message(parameters=[]), "parameter"),
        (message(algorithm="GRID_SEARCH"), "GRID_SEARCH does not support DOUBLE"),
    ],
)
def test_a_job_that_cannot_run_is_refused(vertex: Vertex, job: dict, says: str) -> None:
    with pytest.raises(exceptions.InvalidArgument, match=says):
        create(vertex, job)


def test_tpus_and_unknown_persistent_resources_are_refused(vertex: Vertex) -> None:
    tpu = message()
    machine = {"machine_type": "cloud-tpu", "accelerator_type": "TPU_V2", "accelerator_count": 8}
    tpu["trial_job_spec"]["worker_pool_specs"][0]["machine_spec"] = machine
    with pytest.raises(exceptions.InvalidArgument, match="TPU"):
        create(vertex, tpu)
    elsewhere = message()
    elsewhere["trial_job_spec"]["persistent_resource_id"] = "gone"
    with pytest.raises(exceptions.NotFound):
        create(vertex, elsewhere)


def test_early_stopping_is_accepted_and_has_no_effect(vertex: Vertex) -> None:
    job = finish(vertex, message(trials=2, parallel=1, median_automated_stopping_spec={"use_elapsed_duration": True}))
    assert [trial.state.name for trial in job.trials] == ["SUCCEEDED"] * 2


def test_a_new_server_goes_on_where_the_old_one_stopped(tmp_path) -> None:
    slow = TRAINER + "\ntime.sleep(0.6)"
    vertex = Vertex.start(tmp_path / "vertex")
    name = create(vertex, message(slow, trials=5, parallel=2))
    until(lambda: any(trial.state.name == "SUCCEEDED" for trial in get(vertex, name).trials))
    vertex.stop()
    vertex = Vertex.start(tmp_path / "vertex")
    try:
        until(lambda: get(vertex, name).state.name in ENDED)
        job = get(vertex, name)
        assert [trial.state.name for trial in job.trials] == ["SUCCEEDED"] * 5
        assert len({trial.custom_job for trial in job.trials}) == 5
    finally:
        vertex.stop()


def test_no_more_trials_run_at_once_than_the_job_says(vertex: Vertex) -> None:
    started = time.monotonic()
    name = create(vertex, message(TRAINER + "\ntime.sleep(0.2)", trials=6, parallel=2))
    most = 0
    while get(vertex, name).state.name not in ENDED:
        running = [trial for trial in get(vertex, name).trials if trial.state.name in ("ACTIVE", "REQUESTED")]
        most = max(most, len(running))
        assert time.monotonic() - started < 20
    assert most == 2
