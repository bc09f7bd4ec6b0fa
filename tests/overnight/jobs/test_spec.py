from pathlib import Path

import pytest

from overnight.jobs.errors import SpecError
from overnight.jobs.spec import load, spec_bytes
from overnight.vertex_local.messages import parse_custom_job, to_json

SHIPPED = Path(__file__).parents[3] / "jobs" / "local.yaml"


def test_a_spec_becomes_the_apis_own_message(good, write):
    spec = load(write(good))
    pools = spec.custom_job.job_spec.worker_pool_specs
    assert spec.custom_job.DESCRIPTOR.full_name == "google.cloud.aiplatform.v1.CustomJob"
    assert [pool.replica_count for pool in pools] == [1, 2]
    assert pools[1].machine_spec.accelerator_type == 5  # NVIDIA_TESLA_T4
    assert spec.custom_job.job_spec.scheduling.timeout.seconds == 3600
    assert (spec.overnight.model, spec.overnight.snapshot) == ("classifier", "latest")


def test_numbers_may_be_text_as_in_the_apis_output(good, write):
    as_text = load(write(good)).custom_job
    as_number = load(write(good.replace('"2"', "2"))).custom_job
    assert spec_bytes(as_text) == spec_bytes(as_number)


def test_what_was_loaded_can_be_sent_and_read_again(good, write):
    job = load(write(good)).custom_job
    assert parse_custom_job(to_json(job)) == job


def test_the_shipped_spec_is_right_and_runs_two_replicas():
    spec = load(SHIPPED)
    pools = spec.custom_job.job_spec.worker_pool_specs
    assert [pool.replica_count for pool in pools] == [1, 1]
    assert list(pools[0].container_spec.command) == list(pools[1].container_spec.command)
    assert spec.custom_job.display_name == "weekly-retrain"


BAD = {
    "misspelt job field": ("displayName", "displayNam", "line 2, customJob.displayNam: CustomJob has no such field"),
    "other spelling": ("displayName", "display_name", "did you mean 'displayName'?"),
    "misspelt deep field": (
        "containerSpec:\n          command: [python, -m, trainer.launch]\n    sch",
        "containerSpecs:\n          command: [python]\n    sch",
        "workerPoolSpecs[1].containerSpecs",
    ),
    "misspelt env field": ("{name: OMP", "{nam: OMP", "containerSpec.env[0].nam: EnvVar has no such field"),
    "misspelt top field": ("overnight:", "overnigth:", "did you mean 'overnight'?"),
    "misspelt block field": ("snapshot: latest", "snapshots: latest", "line 22, overnight.snapshots: unknown field"),
    "number as text": ("replicaCount: 1", "replicaCount: one", "'one' stands where a whole number is expected"),
    "fraction": ("replicaCount: 1", "replicaCount: 1.5", "whole number"),
    "true as a number": ("replicaCount: 1", "replicaCount: true", "whole number"),
    "too large a number": ("acceleratorCount: 1", "acceleratorCount: 3000000000", "whole number"),
    "text as boolean": ("Restart: true", 'Restart: "true"', "stands where true or false is expected"),
    "number as env value": (
        'value: "1"',
        "value: 1",
        "line 11, customJob.jobSpec.workerPoolSpecs[0].containerSpec.env[0].value: 1 stands",
    ),
    "args as text": ("args: [--preset=demo]", "args: --preset=demo", "a list is expected"),
    "pool as mapping": (
        "      - replicaCount: 1\n        containerSpec",
        "        replicaCount: 1\n        containerSpec",
        "job.yaml",
    ),
    "list for a message": (
        "scheduling:\n      timeout: 3600s",
        "scheduling: []\n    network: x\n    experiment:\n      timeout: 3600s",
        "a list stands where a Scheduling is expected",
    ),
    "duration without s": ("timeout: 3600s", "timeout: 3600", "3600 is no Duration; write seconds with an s"),
    "duration in hours": ("timeout: 3600s", "timeout: 1h", "is no Duration"),
    "unknown enum": ("strategy: SPOT", "strategy: SPOTT", "did you mean 'SPOT'?"),
    "enum as number": ("strategy: SPOT", "strategy: 4", "4 is no Strategy"),
    "gcloud's accelerator name": (
        "NVIDIA_TESLA_T4",
        "nvidia-tesla-t4",
        "the API has its own names; write NVIDIA_TESLA_T4",
    ),
    "two tasks in a pool": (
        "- replicaCount: 1\n",
        "- replicaCount: 1\n        pythonPackageSpec: {pythonModule: trainer}\n",
        "exclude each other",
    ),
    "no value": ("args: [--preset=demo]", "args:", "this field has no value"),
    "null in a list": ("args: [--preset=demo]", "args: [~]", "stands where text is expected"),
    "label value": ("{team: vision}", "{team: 7}", "labels.team: 7 stands where text is expected"),
    "labels as list": ("{team: vision}", "[vision]", "names and values are expected"),
    "output field": (
        "  displayName: weekly",
        "  displayName: weekly\n  state: JOB_STATE_RUNNING",
        "Vertex AI writes this field itself",
    ),
    "no name": ("  displayName: weekly\n", "", "a job needs a name"),
    "long name": ("displayName: weekly", f"displayName: {'x' * 129}", "1 to 128 characters"),
    "primary twice": ("replicaCount: 1\n", "replicaCount: 2\n", "pool 0 holds exactly one replica"),
    "no replica": ('"2"', '"0"', "at least one replica"),
    "env name": ("OMP_NUM_THREADS", "OMP-NUM", "is not a variable's name"),
    "reserved env": ("OMP_NUM_THREADS", "CLUSTER_SPEC", "CLUSTER_SPEC is set for you"),
    "env twice": (
        "            - {name: OMP",
        '            - {name: OMP_NUM_THREADS, value: "2"}\n            - {name: OMP',
        "is there twice",
    ),
    "both retry switches": ("strategy: SPOT", "disableRetries: true", "both are true"),
    "bad model name": ("model: classifier", "model: My Model", "overnight.model: 'My Model' is not allowed here"),
    "bad snapshot name": ("snapshot: latest", "snapshot: newest", "write 'latest' or a snapshot's name"),
    "no model": ("  model: classifier\n", "", "overnight.model: this field is missing"),
    "block as text": (
        "overnight:\n  model: classifier\n  snapshot: latest",
        "overnight: classifier",
        "must be a mapping",
    ),
    "no block": ("overnight:\n  model: classifier\n  snapshot: latest", "", "overnight is missing"),
    "field twice": ("  displayName: weekly", "  displayName: weekly\n  displayName: other", "this is not YAML"),
    "tab": ("  displayName", "\tdisplayName", "this is not YAML"),
}


@pytest.mark.parametrize(("old", "new", "expected"), BAD.values(), ids=BAD.keys())
def test_a_wrong_spec_is_one_sentence_that_names_the_place(old, new, expected, good, write):
    assert old in good
    path = write(good.replace(old, new, 1))
    with pytest.raises(SpecError) as caught:
        load(path)
    sentence = caught.value.sentence
    assert sentence.startswith(str(path))
    assert expected in sentence
    assert "\n" not in sentence
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "must be a mapping"),
        ("- 1\n", "must be a mapping"),
        ("a: [", "this is not YAML"),
        ("x: &a [*a]\n", "unknown"),
    ],
)
def test_a_file_that_is_no_spec_is_refused(text, expected, write):
    with pytest.raises(SpecError, match=expected):
        load(write(text))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SpecError, match="there is no such job spec"):
        load(tmp_path / "none.yaml")


def test_a_folder_is_not_a_spec(tmp_path):
    with pytest.raises(SpecError, match="this is a folder"):
        load(tmp_path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "job.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not UTF-8"):
        load(tmp_path / "job.yaml")


@pytest.mark.parametrize("path", sorted(SHIPPED.parent.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_specs_load_unless_they_tune(path):
    if path.stem == "tuning":
        with pytest.raises(SpecError, match="this runs one job; give a spec with customJob"):
            load(path)
    else:
        assert load(path).path == path


def test_a_warning_does_not_stop_a_run(good, write):
    spec = load(write(good.replace("strategy: SPOT", "strategy: LOW_COST")))
    assert spec.custom_job.job_spec.scheduling.strategy == 2


def test_five_pools_are_too_many(good, write):
    extra = "      - {}\n      - {}\n      - {containerSpec: {command: [x]}}\n    scheduling:"
    with pytest.raises(SpecError, match="there are 5 pools, and 4 at most"):
        load(write(good.replace("    scheduling:", extra)))


def test_an_empty_pool_is_a_placeholder(good, write):
    extra = "      - {}\n      - {containerSpec: {command: [x]}}\n    scheduling:"
    spec = load(write(good.replace("    scheduling:", extra)))
    assert [pool.WhichOneof("task") for pool in spec.custom_job.job_spec.worker_pool_specs][2] is None
    assert to_json(spec.custom_job)["jobSpec"]["workerPoolSpecs"][2] == {}
