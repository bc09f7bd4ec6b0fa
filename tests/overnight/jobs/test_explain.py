"""Texts that people met, and the entry that each must find."""

import re

import pytest

from overnight.jobs.explain import (
    explain,
    explain_all,
    failure_kind,
    known_errors,
    known_errors_table,
    quota_metrics,
    refusal_kind,
)

# As they stand in public reports (vertex-facts 6.3, 6.4), whole lines where they were whole.
MET = [
    (
        "Resources are insufficient in region: us-central1. Try a different region or use a different accelerator.",
        "stock-out",
        "stockout",
    ),
    (
        "The following quota metrics exceed quota limits: "
        "aiplatform.googleapis.com/custom_model_training_nvidia_k80_gpus",
        "quota-gpu",
        "quota",
    ),
    (
        "429 The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_c2_cpus",
        "quota-c2",
        "quota",
    ),
    (
        "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_cpus",
        "quota-cpu",
        "quota",
    ),
    (
        "The following quota metrics exceed quota limits: "
        "aiplatform.googleapis.com/custom_model_training_preemptible_nvidia_h100_gpus",
        "quota-gpu",
        "quota",
    ),
    (
        "The following quota metrics exceed quota limits: aiplatform.googleapis.com/custom_model_training_tpu_v2",
        "quota-tpu",
        "quota",
    ),
    ("Accelerators are not supported for this project.", "no-accelerators", "quota"),
    ('Machine type "n2d-standard-4" is not supported.', "machine-type", "configuration"),
    (
        'Accelerator "NVIDIA_TESLA_K80" is not supported for machine type "n1-standard-4".',
        "accelerator-machine",
        "configuration",
    ),
    (
        "Both `accelerator_type` and `accelerator_count` should be specified or none.",
        "accelerator-pair",
        "configuration",
    ),
    (
        "You do not have permission to act as service account: x@y.iam.gserviceaccount.com. (or it may not exist).",
        "act-as",
        "configuration",
    ),
    (
        "custom_job.job_spec.service_account must be specified when uploading to TensorBoard",
        "tensorboard-account",
        "configuration",
    ),
    ("Internal error occurred for the current attempt.", "internal", "internal"),
    (
        "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error.",
        "exit",
        "code",
    ),
    ("The replica workerpool0-0 exited with a non-zero status of 137. Termination reason: Error.", "exit-oom", "code"),
    ("The replica workerpool1-3 exited with a non-zero status of 139.", "exit-crash", "code"),
    ("The replica workerpool0-0 exited with a non-zero status of 2.", "exit-2", "configuration"),
    ("The replica workerpool0-0 exited with a non-zero status of 127.", "exit-127", "configuration"),
    ("RuntimeError: DataLoader worker (pid 812) is killed by signal: Bus error.", "shared-memory", "code"),
    ("[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12)", "nccl-timeout", "code"),
    ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "out-of-gpu-memory", "code"),
    ("Request had insufficient scopes. reason: ACCESS_TOKEN_SCOPE_INSUFFICIENT", "token-scope", "code"),
    ("403 Permission denied on resource project My Project. CONSUMER_INVALID", "project-name", "configuration"),
    ("FileNotFoundError: [Errno 2] No such file or directory: '/gcs/bucket/x'", "gcs-mount", "code"),
]


@pytest.mark.parametrize(("text", "name", "kind"), MET, ids=[f"{name}-{at}" for at, (_, name, _) in enumerate(MET)])
def test_a_text_that_was_met_is_explained(text, name, kind):
    found = explain(text)
    assert found is not None
    assert (found.name, found.kind) == (name, kind)
    assert failure_kind(text) == kind


def test_a_text_in_a_long_log_is_found():
    log = "step 1\n" * 2000 + "RuntimeError: DataLoader worker (pid 9) is killed by signal: Bus error\n" + "x\n" * 2000
    assert [row.name for row in explain_all(log)] == ["shared-memory"]


def test_a_general_entry_is_left_out_where_another_says_more():
    oom = "The replica workerpool0-0 exited with a non-zero status of 137."
    assert [row.name for row in explain_all(oom)] == ["exit-oom"]
    assert [row.name for row in explain_all(oom.replace("137", "2"))] == ["exit-2"]
    assert [row.name for row in explain_all(oom.replace("137", "1"))] == ["exit"]


@pytest.mark.parametrize("text", ["", "all is well", "step 20 loss 2.1371", "epoch 137 of 139", "exited with status 0"])
def test_what_nobody_met_is_not_explained(text):
    assert explain(text) is None
    assert failure_kind(text) == "code"


def test_every_entry_is_a_pattern_with_cause_remedy_and_source():
    rows = known_errors()
    assert len({row.name for row in rows}) == len(rows) >= 30
    for row in rows:
        re.compile(row.text)
        assert row.kind in ("stockout", "internal", "quota", "configuration", "code", "passing")
        assert all((row.cause, row.remedy, row.source))
        assert not row.cause.endswith(".")
        assert not row.remedy.endswith(".")


def test_quota_metrics_are_named_once():
    text = (
        "a aiplatform.googleapis.com/custom_model_training_cpus, b aiplatform.googleapis.com/custom_model_training_cpus"
    )
    assert quota_metrics(text) == ["aiplatform.googleapis.com/custom_model_training_cpus"]


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        ("UNAVAILABLE", "The service is currently unavailable.", "passing"),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", "passing"),
        ("RESOURCE_EXHAUSTED", "The following quota metrics exceed quota limits: x", "quota"),
        ("RESOURCE_EXHAUSTED", "Resources are insufficient in region: europe-west4.", "stockout"),
        ("INVALID_ARGUMENT", "whatever", "configuration"),
        ("PERMISSION_DENIED", "whatever", "configuration"),
        ("NOT_FOUND", "whatever", "configuration"),
        ("FAILED_PRECONDITION", "whatever", "configuration"),
        ("UNAUTHENTICATED", "whatever", "configuration"),
        ("INTERNAL", "whatever", "internal"),
        # What programs say is no reason to send a refused request again.
        ("INVALID_ARGUMENT", "CUDA out of memory", "configuration"),
    ],
)
def test_a_refusal_is_tried_again_only_where_that_can_help(code, message, kind):
    assert refusal_kind(code, message) == kind


def test_the_table_has_a_row_for_every_entry():
    assert len(known_errors_table().splitlines()) == 2 + len(known_errors())
