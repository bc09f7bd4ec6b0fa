"""What is sent, whole: golden requests for every shipped spec; and what must not be sent at all."""

import json
import os
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from google.cloud import aiplatform_v1
from google.protobuf import json_format

from job_support import CONFIG, ENVIRONMENT, FALLBACKS, IMAGE, KEY, NOW, ROOT, SNAPSHOT, planned, spec_file
from overnight.config import load
from overnight.config.names import Names
from overnight.jobs.errors import SpecError
from overnight.jobs.place import place_of
from overnight.jobs.plan import checked_run_id, snapshot_named
from overnight.jobs.request import request_type

GOLDEN = Path(__file__).parent / "golden"
SHIPPED = sorted(path for path in (ROOT / "jobs").glob("*.yaml") if path.stem != "local")
TENSORBOARD = "projects/481516234207/locations/us-central1/tensorboards/42"


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def shipped(path: Path):
    return planned(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_spec_gives_exactly_this_request(path):
    text = b"".join(request.text for request in shipped(path).requests)
    golden = GOLDEN / f"{path.stem}.json"
    if os.environ.get("OVERNIGHT_ACCEPT") == "1":
        golden.write_bytes(text)
    assert golden.is_file(), "run the tests with OVERNIGHT_ACCEPT=1, and read what they wrote"
    assert text == golden.read_bytes()


def test_no_golden_request_is_left_of_a_spec_that_is_gone():
    assert {path.stem for path in GOLDEN.glob("*.json")} == {path.stem for path in SHIPPED}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_what_is_printed_is_what_is_sent(path):
    for request in shipped(path).requests:
        parsed = json_format.Parse(request.text, request_type(request.kind).pb()())
        assert parsed.SerializeToString(deterministic=True) == request.message.SerializeToString(deterministic=True)
        assert json_format.MessageToDict(request.message) == request.body


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_labels_are_labels(path):
    for request in shipped(path).requests:
        labels = request.job["labels"]
        assert len(labels) <= 64
        for key, value in labels.items():
            assert re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key)
            assert re.fullmatch(r"[a-z0-9_-]{1,63}", value)
        assert {"owner", "cost_center", "environment"} <= set(labels)  # the bill


def test_every_start_of_a_run_has_a_token_of_its_own():
    requests = shipped(ROOT / "jobs" / "weekly-a100-spot.yaml").requests
    starts = [*requests, *(request.again(retry) for request in requests for retry in (1, 2))]
    assert len({start.token for start in starts}) == len(starts) == 12
    assert {start.digest for start in starts} == {requests[0].digest}


def test_a_retry_differs_in_its_labels_only(tmp_path):
    first = planned(spec_file(tmp_path)).requests[0]
    again = first.again(1)
    assert again.job["labels"].pop("overnight-attempt") == "0-1"
    assert again.job["labels"].pop("overnight-token") == again.again(1).token
    kept = {name: value for name, value in first.job["labels"].items() if name in again.job["labels"]}
    assert again.job == {**first.job, "labels": kept}


def test_the_same_content_has_the_same_run_id_at_the_same_time(tmp_path):
    path = spec_file(tmp_path)
    assert planned(path) == planned(path)
    assert planned(path).run_id == f"20261130-200000-{planned(path).digest[:8]}"
    assert planned(path, NOW + timedelta(seconds=1)).run_id != planned(path).run_id


@pytest.mark.parametrize(
    "other",
    [
        lambda folder: planned(spec_file(folder, "print(2)")),
        lambda folder: planned(spec_file(folder, more=FALLBACKS)),
        lambda folder: planned(spec_file(folder), snapshot="20261128-0123456789ab"),
        lambda folder: planned(spec_file(folder), tensorboard=TENSORBOARD),
    ],
    ids=["code", "fallbacks", "snapshot", "tensorboard"],
)
def test_other_content_is_another_run(other, tmp_path):
    assert other(tmp_path / "other").digest != planned(spec_file(tmp_path)).digest


def test_comments_and_order_are_no_content(tmp_path):
    plan = planned(spec_file(tmp_path))
    path = spec_file(tmp_path)
    path.write_text("# another comment\n" + path.read_text())
    assert planned(path).digest == plan.digest


def test_the_environment_fills_in_what_the_spec_leaves_out_and_says_so(tmp_path):
    plan = planned(spec_file(tmp_path))
    spec = plan.requests[0].job["jobSpec"]
    assert spec["serviceAccount"] == "example-training@acme-vision-prod.iam.gserviceaccount.com"
    assert spec["baseOutputDirectory"] == {
        "outputUriPrefix": f"gs://acme-vision-prod-example-staging/runs/{plan.run_id}"
    }
    assert any("example-training@" in note for note in plan.notes)
    assert any("--tensorboard" in note for note in plan.notes)
    assert plan.requests[0].parent == "projects/acme-vision-prod/locations/us-central1"


def test_what_the_spec_says_stays(tmp_path):
    path = spec_file(tmp_path)
    own = "jobSpec:\n    serviceAccount: my-training@acme-vision-prod.iam.gserviceaccount.com\n"
    own += "    baseOutputDirectory: {outputUriPrefix: gs://acme-vision-prod-example-models/mine/}\n"
    path.write_text(path.read_text().replace("jobSpec:\n", own))
    plan = planned(path)
    spec = plan.requests[0].job["jobSpec"]
    assert spec["serviceAccount"] == "my-training@acme-vision-prod.iam.gserviceaccount.com"
    assert spec["baseOutputDirectory"]["outputUriPrefix"] == f"gs://acme-vision-prod-example-models/mine/{plan.run_id}"


def test_a_tensorboard_serves_jobs_of_its_region_only(tmp_path):
    more = "  fallbacks: [{region: us-east1}]\n"
    place = replace(place_of(ENVIRONMENT), tensorboard=TENSORBOARD)
    assert place == place_of(ENVIRONMENT, TENSORBOARD)
    path = spec_file(tmp_path, more=more)
    config = tmp_path / "two.yaml"
    config.write_text(
        CONFIG.read_text().replace("allowed_regions: [us-central1]", "allowed_regions: [us-central1, us-east1]")
    )
    here = planned_in(config, path)
    assert here.requests[0].job["jobSpec"]["tensorboard"] == TENSORBOARD
    assert "tensorboard" not in here.requests[1].job["jobSpec"]


def planned_in(config, path):
    from overnight.jobs.context import context_of
    from overnight.jobs.document import load_document
    from overnight.jobs.plan import make_plan

    text = path.read_text().replace(f"  encryptionSpec: {{kmsKeyName: {KEY}}}\n", "")
    path.write_text(text)
    config.write_text(config.read_text().replace("  cmek:\n    enabled: true", "  cmek:\n    enabled: false"))
    environment = load(config)
    place, context = place_of(environment, TENSORBOARD), context_of(environment, NOW.date())
    return make_plan(load_document(path), place, context, snapshot_named(SNAPSHOT), NOW)


def test_a_tensorboard_that_is_no_name_is_refused(tmp_path):
    with pytest.raises(SpecError, match="full name of a TensorBoard"):
        planned(spec_file(tmp_path), tensorboard="/locations/us-central1/tensorboards")


def test_reducers_are_told_nothing():
    pools = shipped(ROOT / "jobs" / "multi-node-reduction-server.yaml").requests[0].job["jobSpec"]["workerPoolSpecs"]
    assert set(pools[2]["containerSpec"]) == {"imageUri"}
    assert all("OVERNIGHT_RUN_ID" in {item["name"] for item in pool["containerSpec"]["env"]} for pool in pools[:2])


def told_images(pools) -> list[list[str]]:
    return [
        [item["value"] for item in pool["containerSpec"].get("env", []) if item["name"] == "OVERNIGHT_IMAGE"]
        for pool in pools
    ]


@pytest.mark.parametrize("name", ["multi-node-reduction-server", "tf-parameter-server", "tuning", "weekly-a100-spot"])
def test_every_container_that_trains_is_told_its_own_image(name):
    for request in shipped(ROOT / "jobs" / f"{name}.yaml").requests:
        spec = request.job.get("jobSpec") or request.job["trialJobSpec"]
        pools = [pool for pool in spec["workerPoolSpecs"] if pool]
        images = [pool["containerSpec"]["imageUri"] for pool in pools]
        assert told_images(pools) == [[] if "/reductionserver@" in image else [image] for image in images]


def test_an_image_that_the_spec_tells_itself_is_told_once_and_in_its_place(tmp_path):
    path = spec_file(tmp_path)
    env = f"          env: [{{name: OVERNIGHT_IMAGE, value: '{IMAGE}'}}, {{name: A, value: b}}]\n"
    path.write_text(path.read_text().replace("overnight:\n", f"{env}overnight:\n"))
    (pool,) = planned(path).requests[0].job["jobSpec"]["workerPoolSpecs"]
    names = [item["name"] for item in pool["containerSpec"]["env"]]
    assert names == ["OVERNIGHT_IMAGE", "A", "OVERNIGHT_SHARDS", "OVERNIGHT_SNAPSHOT", "OVERNIGHT_RUN_ID"]
    assert told_images([pool]) == [[IMAGE]]


def test_trials_are_told_their_share():
    pool = shipped(ROOT / "jobs" / "tuning.yaml").requests[0].job["trialJobSpec"]["workerPoolSpecs"][0]
    assert {"name": "OVERNIGHT_SUBSAMPLE", "value": "0.125"} in pool["containerSpec"]["env"]


def test_a_spec_with_an_error_is_refused_with_its_line(tmp_path):
    path = spec_file(tmp_path)
    path.write_text(path.read_text().replace("acceleratorCount: 1", "acceleratorCount: 3"))
    with pytest.raises(SpecError, match=r"small\.yaml line 7"):
        planned(path)


def test_a_spec_with_many_errors_says_how_many(tmp_path):
    path = spec_file(tmp_path)
    path.write_text(path.read_text().replace("acceleratorCount: 1", "acceleratorCount: 3").replace("n1-", "x9-"))
    path.write_text(path.read_text().replace("replicaCount: 1", "replicaCount: 2"))
    with pytest.raises(SpecError, match=r"`overnight job check` names \d more"):
        planned(path)


def test_a_spec_for_this_machine_is_not_sent():
    with pytest.raises(SpecError, match=r"overnight run jobs/local\.yaml"):
        planned(Path("jobs/local.yaml"))


def test_an_environment_without_a_project_has_no_place():
    with pytest.raises(SpecError, match="has no project"):
        place_of(load(ROOT / "config" / "local.yaml"))


@pytest.mark.parametrize("wrong", ["", "x", "20261130-200000", "20261130-200000-0123ABCD", "../20261130"])
def test_a_run_id_that_is_none_is_refused(wrong):
    with pytest.raises(SpecError, match="is no run id"):
        checked_run_id(wrong)


@pytest.mark.parametrize("wrong", ["", "latest", "20261127-0123456789AB", "../x"])
def test_a_snapshot_name_that_is_none_is_refused(wrong):
    with pytest.raises(SpecError, match="is no snapshot's name"):
        snapshot_named(wrong)


def test_names_are_those_of_the_stacks():
    names, place = Names(environment=ENVIRONMENT.environment, google=ENVIRONMENT.google), place_of(ENVIRONMENT)
    assert (place.account, place.staging, place.shards) == (
        names.account("training"),
        names.bucket("staging"),
        names.bucket("shards"),
    )


def test_the_request_types_are_the_clients_own():
    assert request_type("customJob") is aiplatform_v1.CreateCustomJobRequest
    assert request_type("hyperparameterTuningJob") is aiplatform_v1.CreateHyperparameterTuningJobRequest


def test_golden_requests_hold_no_trace_of_this_machine():
    for path in GOLDEN.glob("*.json"):
        text = path.read_text()
        assert str(ROOT) not in text
        assert json.loads(text.split("\n}\n", 1)[0] + "}")
