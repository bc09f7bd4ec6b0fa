"""The SDK, unpatched but for its waiting times, against tuning jobs, pipelines and schedules of a running server."""

from pathlib import Path

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import aiplatform
from google.cloud.aiplatform import hyperparameter_tuning, jobs, pipeline_jobs

from vertex_studies import PROJECT, Vertex, pools, until

SPECS = Path(__file__).parents[1] / "pipelines" / "specs"
WEEK = 7 * 24 * 3600

TRAINER = """
import argparse, json, os, time
parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float)
parser.add_argument("--units", type=int)
parser.add_argument("--optimizer")
options = parser.parse_args()
loss = (options.rate - 0.1) ** 2 + options.units / 1000 + (options.optimizer == "sgd")
with open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a") as file:
    line = {"timestamp": time.time(), "trial": os.environ["CLOUD_ML_TRIAL_ID"], "loss": str(loss)}
    file.write(json.dumps({**line, "global_step": "1", "checkpoint_path": ""}) + "\\n")
"""


@pytest.fixture(scope="module")
def vertex(tmp_path_factory):
    vertex = Vertex.start(tmp_path_factory.mktemp("vertex"), study_seed=1)
    with pytest.MonkeyPatch.context() as patch:
        # `submit` looks after its bucket and goes on without it; any quick answer does.
        patch.setenv("STORAGE_EMULATOR_HOST", vertex.server.rest_url)
        patch.setattr(jobs, "_JOB_WAIT_TIME", 0.1)
        patch.setattr(pipeline_jobs, "_JOB_WAIT_TIME", 0.1)
        aiplatform.init(
            project=PROJECT,
            location="europe-west4",
            staging_bucket="gs://staging",
            credentials=AnonymousCredentials(),
            api_endpoint=vertex.server.rest_url,
            api_transport="rest",
        )
        yield vertex
        aiplatform.initializer.global_config.__init__()
    vertex.stop()


def test_a_tuning_job_of_twelve_trials_four_at_a_time(vertex: Vertex) -> None:
    job = aiplatform.HyperparameterTuningJob(
        display_name="sweep",
        custom_job=aiplatform.CustomJob(
            display_name="train", worker_pool_specs=pools(TRAINER), base_output_dir="gs://models/sweep"
        ),
        metric_spec={"loss": "minimize"},
        parameter_spec={
            "rate": hyperparameter_tuning.DoubleParameterSpec(min=1e-3, max=1.0, scale="log"),
            "units": hyperparameter_tuning.DiscreteParameterSpec(values=[16, 32, 64], scale=None),
            "optimizer": hyperparameter_tuning.CategoricalParameterSpec(values=["sgd", "adam"]),
        },
        max_trial_count=12,
        parallel_trial_count=4,
    )
    job.run()
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert [trial.id for trial in job.trials] == [str(number) for number in range(1, 13)]
    assert {trial.state.name for trial in job.trials} == {"SUCCEEDED"}
    losses = [trial.final_measurement.metrics[0].value for trial in job.trials]
    assert min(losses[6:]) <= min(losses[:6])
    # Four at a time: every trial but the first four starts after some other has ended.
    starts = sorted(trial.start_time for trial in job.trials)
    ends = sorted(trial.end_time for trial in job.trials)
    assert all(start >= end for start, end in zip(starts[4:], ends, strict=False))


def test_a_failing_tuning_job_raises(vertex: Vertex) -> None:
    custom_job = aiplatform.CustomJob(
        display_name="train", worker_pool_specs=pools("print(1)"), base_output_dir="gs://models/sweep"
    )
    job = aiplatform.HyperparameterTuningJob(
        display_name="sweep",
        custom_job=custom_job,
        metric_spec={"loss": "minimize"},
        parameter_spec={"rate": hyperparameter_tuning.IntegerParameterSpec(min=1, max=3, scale="linear")},
        max_trial_count=3,
        parallel_trial_count=1,
    )
    with pytest.raises(RuntimeError, match="The first trial failed"):
        job.run()


def pipeline(name: str, **parameters: object) -> aiplatform.PipelineJob:
    return aiplatform.PipelineJob(
        display_name=name,
        template_path=str(SPECS / f"{name}.json"),
        pipeline_root="gs://runs/root",
        parameter_values=parameters,
        enable_caching=False,
    )


def test_a_pipeline_is_submitted_and_waited_for(vertex: Vertex) -> None:
    job = pipeline("weekly", week="20261130")
    job.submit(service_account="runner@overnight-local.iam.gserviceaccount.com")
    job.wait()
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED"
    found = {detail.task_name: detail.state.name for detail in job.task_details}
    assert found["release"] == "SUCCEEDED"
    assert job.gca_resource.job_detail.task_details


def test_a_failing_pipeline_raises(vertex: Vertex, tmp_path: Path) -> None:
    spec = (SPECS / "loop.json").read_text().replace("echo $(($0 * 2))", "exit 1; echo")
    (tmp_path / "pipeline.json").write_text(spec)
    job = aiplatform.PipelineJob(
        display_name="loop",
        template_path=str(tmp_path / "pipeline.json"),
        pipeline_root="gs://runs/root",
        parameter_values={"rates": [{"n": 1}]},
    )
    with pytest.raises(RuntimeError, match="failed tasks are"):
        job.run()


def test_a_schedule_is_made_paused_resumed_and_its_jobs_listed(vertex: Vertex) -> None:
    job = pipeline("loop", rates=[{"n": 2}])
    schedule = aiplatform.PipelineJobSchedule(pipeline_job=job, display_name="weekly")
    schedule.create(cron="TZ=Europe/Paris 0 20 * * 5", max_concurrent_run_count=1)
    schedule.pause()
    assert schedule.state.name == "PAUSED"
    schedule.resume(catch_up=True)
    vertex.server.world.clock.advance(WEEK)
    vertex.server.world.wake()
    (run,) = until(schedule.list_jobs)
    run.wait()
    assert run.state.name == "PIPELINE_STATE_SUCCEEDED"
    schedule.update(cron="TZ=Europe/Paris 0 21 * * 5")
    assert schedule.cron == "TZ=Europe/Paris 0 21 * * 5"
    schedule.delete()
