"""What is published is what runs: the compiled templates on a local Vertex AI, by their digest, with real pictures."""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kfp_registry import kfp_registry
from overnight.images.reference import parse_pinned
from overnight.pipeline.publish import publish
from overnight.pipeline.registry import registry_of
from overnight.pipeline.repository import parse_repository
from overnight.pipeline.specification import compile_template
from overnight.pipeline.templates import TEMPLATES
from support import draw_folder, overnight
from vertex_studies import Vertex, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[3]
PROJECT, NUMBER = "acme-vision-prod", "481516234207"
"""Those of config/example.yaml."""
PARENT = f"projects/{PROJECT}/locations/us-central1"
REPOSITORY = "acme/pipelines"
IMAGES = {"steps": parse_pinned(f"us-central1-docker.pkg.dev/acme/images/steps@sha256:{'a' * 64}")}
CONFIG = """\
environment: test
root: {root}
validation: {{near_duplicate_distance: 0, max_near_duplicates: 1.0, max_row_growth: 1.0}}
gate: {{min_class_recall: 0.0, min_groups: 10}}
"""
JOB = """\
customJob:
  displayName: weekly-retrain
  jobSpec:
    workerPoolSpecs:
      - replicaCount: 1
        containerSpec: {command: [python, -m, trainer.launch], args: [--preset=smoke, --set=epochs=8]}
overnight: {model: classifier}
"""
STUDY = f"""\
hyperparameterTuningJob:
  displayName: small
  encryptionSpec: {{kmsKeyName: {PARENT}/keyRings/example-overnight/cryptoKeys/training}}
  maxTrialCount: 2
  parallelTrialCount: 2
  studySpec:
    metrics: [{{metricId: accuracy, goal: MAXIMIZE}}]
    parameters: [{{parameterId: rate, doubleValueSpec: {{minValue: 0.1, maxValue: 0.9}}, scaleType: UNIT_LINEAR_SCALE}}]
  trialJobSpec:
    workerPoolSpecs:
      - replicaCount: 1
        machineSpec: {{machineType: n1-standard-8}}
        containerSpec:
          imageUri: us-central1-docker.pkg.dev/{PROJECT}/example-images/trainer-cpu@sha256:{"b" * 64}
          command: [{sys.executable}, -c, TRIAL]
overnight: {{model: classifier}}
"""
TRIAL = """\
import json, os, sys
rate = sys.argv[1].removeprefix("--rate=")
line = {"timestamp": 1.0, "trial": os.environ["CLOUD_ML_TRIAL_ID"], "accuracy": rate, "global_step": "1"}
open(os.environ["CLOUD_ML_HP_METRIC_FILE"], "a").write(json.dumps(line) + "\\n")
"""
ENDED = ("PIPELINE_STATE_SUCCEEDED", "PIPELINE_STATE_FAILED", "PIPELINE_STATE_CANCELLED")


@dataclass(frozen=True)
class Site:
    """A folder with pictures, an environment and a job spec; a registry; a Vertex AI that reads templates there."""

    folder: Path
    vertex: Vertex
    uris: dict[str, str]

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def run(self, name: str, **parameters: str) -> Any:
        """A run of a template, by the official client, at its end."""
        job = {
            "display_name": name,
            "template_uri": self.uris[name],
            "runtime_config": {"gcs_output_directory": "gs://runs/weekly", "parameter_values": parameters},
        }
        made = self.vertex.pipelines.create_pipeline_job(parent=PARENT, pipeline_job=job)
        until(lambda: self.vertex.pipelines.get_pipeline_job(name=made.name).state.name in ENDED, seconds=250)
        return self.vertex.pipelines.get_pipeline_job(name=made.name)

    def log(self, job: Any) -> str:
        """What the steps wrote, for the message of a failed test."""
        steps = [detail.executor_detail.container_detail.main_job for detail in job.job_detail.task_details]
        files = self.vertex.server.world.engine.files
        return "\n".join(entry.message for step in steps if step for entry in files.read_log(step).entries)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, command_environment: dict[str, str]) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "env.yaml").write_text(CONFIG.format(root=folder / "data"))
    (folder / "job.yaml").write_text(JOB)
    draw_folder(folder / "pictures", 40)
    for command in (("import", "pictures"), ("shards", "build")):
        overnight(*command, "--config", "env.yaml", cwd=folder, environment=command_environment)
    draw_folder(folder / "pictures", 20, first=40)
    with kfp_registry(folder / "templates", REPOSITORY) as registry, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        uris = {name: _published(registry.address(REPOSITORY), name) for name in TEMPLATES}
        vertex = Vertex.start(folder / "vertex", templates=folder / "templates", project=PROJECT, project_number=NUMBER)
        yield Site(folder, vertex, uris)
        vertex.stop()


def _published(address: str, name: str) -> str:
    """The template's address, as it reads where Artifact Registry keeps it."""
    registry = registry_of(parse_repository(address))
    made = publish(registry, compile_template(TEMPLATES[name], IMAGES), name, "c0ffee")
    return f"https://us-central1-kfp.pkg.dev/{REPOSITORY}/{name}/{made.version}"


@pytest.fixture(scope="module")
def week(site: Site) -> Any:
    folder = site.folder
    return site.run("weekly", config=f"{folder}/env.yaml", images=f"{folder}/pictures", job=f"{folder}/job.yaml")


def outputs(job: Any) -> dict[str, dict[str, Any]]:
    """What each task put out, by its name."""
    return {
        detail.task_name: {
            name.removeprefix("output:"): value
            for name, value in dict(detail.execution.metadata).items()
            if name.startswith("output:")
        }
        for detail in job.job_detail.task_details
    }


def test_a_week_runs_from_pictures_to_a_champion(site: Site, week: Any) -> None:
    assert week.state.name == "PIPELINE_STATE_SUCCEEDED", f"{week.error.message}\n{site.log(week)}"
    assert week.template_metadata.version == site.uris["weekly"].rpartition("/")[2]
    found = outputs(week)
    manifest = json.loads((site.root / "snapshots" / found["create-snapshot"]["name"] / "manifest.json").read_text())
    assert manifest["shard_set"]["name"] == found["append-shards"]["name"] == "0002"
    assert manifest["counts"]["rows"] == 180
    run = json.loads((site.root / "runs" / found["train"]["run_id"] / "run.json").read_text())
    assert run["snapshot"]["name"] == manifest["name"]
    assert run["weights_sha256"] == found["train"]["weights_sha256"]
    decision = json.loads((site.root / "models" / "classifier" / "promotions.jsonl").read_text().splitlines()[-1])
    assert (decision["run_id"], decision["decision"]) == (run["run_id"], "promoted")
    assert found["promote"] == {"decision": "promoted", "reason": decision["reason"]}


def test_all_steps_work_with_the_time_at_which_the_run_was_created(site: Site, week: Any) -> None:
    found = outputs(week)
    created = week.create_time.strftime("%Y%m%d-%H%M%S")
    assert found["train"]["run_id"].startswith(f"{created}-")
    assert found["create-snapshot"]["name"].startswith(f"{created[:8]}-")


def test_a_step_runs_in_the_image_that_the_template_names(site: Site, week: Any) -> None:
    (train,) = (detail for detail in week.job_detail.task_details if detail.task_name == "train")
    step = site.vertex.jobs.get_custom_job(name=train.executor_detail.container_detail.main_job)
    assert step.job_spec.worker_pool_specs[0].container_spec.image_uri == str(IMAGES["steps"])


def test_a_week_ends_at_the_step_that_fails(site: Site, week: Any) -> None:
    assert week.name
    log = (site.root / "models" / "classifier" / "promotions.jsonl").read_bytes()
    folder = site.folder
    job = site.run("weekly", config=f"{folder}/env.yaml", images=f"{folder}/none", job=f"{folder}/job.yaml")
    assert job.state.name == "PIPELINE_STATE_FAILED"
    assert job.error.message == "The DAG failed because some tasks failed. The failed tasks are: [import]."
    states = {detail.task_name: detail.state.name for detail in job.job_detail.task_details}
    assert states["append-shards"] == states["promote"] == "NOT_TRIGGERED"
    assert (site.root / "models" / "classifier" / "promotions.jsonl").read_bytes() == log


def test_a_study_is_submitted_and_watched_to_its_end(site: Site, week: Any) -> None:
    assert week.name
    folder = site.folder
    example = (ROOT / "config" / "example.yaml").read_text()
    (folder / "cloud.yaml").write_text(example.replace("root: data", f"root: {site.root}", 1))
    (folder / "study.yaml").write_text(STUDY.replace("TRIAL", json.dumps(TRIAL)))
    job = site.run(
        "tuning",
        config=f"{folder}/cloud.yaml",
        job=f"{folder}/study.yaml",
        endpoint=site.vertex.server.rest_url,
    )
    assert job.state.name == "PIPELINE_STATE_SUCCEEDED", f"{job.error.message}\n{site.log(job)}"
    (study,) = site.vertex.jobs.list_hyperparameter_tuning_jobs(parent=PARENT)
    assert study.labels["overnight-run"] == outputs(job)["submit"]["run_id"]
    assert [trial.state.name for trial in study.trials] == ["SUCCEEDED", "SUCCEEDED"]
