import json
import re
from typing import Any

import pytest

from infra.constructs import log_metrics
from infra.constructs.log_metrics import Signal
from log_filter import matches
from training_stack import example, resources

SETTINGS = example()
SIGNALS = {signal.name: signal for signal in log_metrics.all_signals(SETTINGS.google.schedules, SETTINGS.names)}
ACCOUNT = "example-pipeline@acme-vision-prod.iam.gserviceaccount.com"
EPOCH = (
    "epoch 3/16 step 120/640 size 160 train loss 1.235, validation: loss 0.987 accuracy 0.812 balanced 0.790, 33.1 s"
)


def printed(text: str) -> dict[str, Any]:
    """A line of a training container."""
    return {
        "logName": "projects/acme-vision-prod/logs/workerpool0-0",
        "resource": {"type": "ml_job", "labels": {"job_id": "123", "task_name": "workerpool0-0"}},
        "jsonPayload": {"message": text},
    }


def parsed(**fields: str) -> dict[str, Any]:
    """A structured line that the log's agent has parsed."""
    return {**printed(""), "jsonPayload": {"message": "done", "overnight": fields}}


def pipeline(state: str, name: str = "weekly", account: str = ACCOUNT) -> dict[str, Any]:
    """The service's own entry about a pipeline run."""
    return {
        "logName": "projects/acme-vision-prod/logs/aiplatform.googleapis.com%2Fpipeline_job_events",
        "resource": {"type": "aiplatform.googleapis.com/PipelineJob", "labels": {"pipeline_job_id": "weekly-1"}},
        "labels": {"service_account": account},
        "jsonPayload": {"state": f"PIPELINE_STATE_{state}", "pipelineName": name},
    }


def found(entry: dict[str, Any]) -> set[str]:
    """Names of the signals that count `entry`."""
    return {name for name, signal in SIGNALS.items() if matches(signal.filter, entry)}


FINISHED = {"environment": "example", "event": "run_finished", "schedule": "weekly"}


@pytest.mark.parametrize(
    ("entry", "signals"),
    [
        (printed("trainer: the loss became nan at step 12 with learning rate 0.1; lower it."), {"loss_diverged"}),
        (printed("torch.OutOfMemoryError: CUDA out of memory."), {"out_of_memory"}),
        (printed("overnight: data/labels.duckdb: 2 of 24 checks failed (row_count, nulls); …"), {"snapshot_rejected"}),
        (printed("pets:3 promoted: It beats the champion."), {"model_promoted"}),
        (printed("pets:3 refused: It is worse."), {"model_refused"}),
        (printed(EPOCH), {"train_loss", "validation_accuracy"}),
        (pipeline("FAILED"), {"pipeline_failed"}),
        (pipeline("RUNNING"), set()),
        (pipeline("SUCCEEDED"), {"weekly_finished"}),
        (pipeline("SUCCEEDED", name="tuning"), {"monthly_tuning_finished"}),
        (pipeline("SUCCEEDED", name="someone-elses"), set()),
        (pipeline("SUCCEEDED", account=ACCOUNT.replace("example", "dev")), set()),
        (parsed(**FINISHED), {"weekly_reported", "data_wait_share"}),
        (parsed(**{**FINISHED, "schedule": "monthly_tuning"}), {"monthly_tuning_reported", "data_wait_share"}),
        (parsed(**{**FINISHED, "environment": "dev"}), {"data_wait_share"}),
        (parsed(event="snapshot_rejected"), {"snapshot_rejected"}),
        (printed(json.dumps({"overnight": FINISHED}, sort_keys=True)), {"weekly_reported"}),
        (printed(json.dumps({"overnight": {"event": "snapshot_rejected"}})), {"snapshot_rejected"}),
    ],
)
def test_an_entry_is_counted_for_what_it_means(entry: dict[str, Any], signals: set[str]) -> None:
    assert found(entry) == signals


def test_a_line_of_the_service_is_found_as_text_too() -> None:
    text = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error."
    entry = {**printed(""), "textPayload": text}
    del entry["jsonPayload"]
    assert found(entry) == {"job_failed"}


def test_another_service_that_prints_the_same_words_is_not_counted() -> None:
    entry = printed("torch.OutOfMemoryError: CUDA out of memory.")
    entry["resource"]["type"] = "k8s_container"
    assert found(entry) == set()


@pytest.mark.parametrize("signal", SIGNALS.values(), ids=SIGNALS.keys())
def test_a_filter_names_one_resource_type(signal: Signal) -> None:
    assert len(re.findall(r"resource\.type=", signal.filter)) == 1


@pytest.mark.parametrize(("measure", "value"), [("train_loss", "1.235"), ("validation_accuracy", "0.812")])
def test_a_measure_extracts_its_number_from_the_line_that_it_finds(measure: str, value: str) -> None:
    extractor = resources("google_logging_metric")[f"{measure}_metric"]["value_extractor"]
    inside = re.fullmatch(r'REGEXP_EXTRACT\(jsonPayload\.message, "(.*)"\)', extractor)
    assert inside is not None
    number = re.search(inside.group(1), EPOCH)
    assert number is not None
    assert number.groups() == (value,)


def test_every_signal_is_a_metric_named_for_its_environment() -> None:
    made = resources("google_logging_metric")
    assert {f"{name}_metric" for name in SIGNALS} == set(made)
    for name, signal in SIGNALS.items():
        metric = made[f"{name}_metric"]
        assert metric["name"] == f"example-{name.replace('_', '-')}"
        assert metric["filter"] == signal.filter
        kind = "DISTRIBUTION" if isinstance(signal, log_metrics.Measure) else "INT64"
        assert metric["metric_descriptor"] == {"metric_kind": "DELTA", "value_type": kind, "unit": "1"}
        assert ("value_extractor" in metric) == ("bucket_options" in metric) == (kind == "DISTRIBUTION")
