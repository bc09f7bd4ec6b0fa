"""Each pattern against the line as our code, PyTorch or Vertex AI really writes it, and against innocent ones."""

import json
import math
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from infra.constructs import log_lines
from label_house import House, first_week
from overnight.cli import main, model
from overnight.models.gate import Verdict
from overnight.models.promote import Outcome
from overnight.models.promotions import Decision
from overnight.models.registry import ModelVersion
from trainer import finish, train
from trainer.command import fail_in_one_sentence

Output = pytest.CaptureFixture[str]

EPOCH = (
    "epoch 3/16 step 120/640 size 160 train loss 1.235, validation: loss 0.987 accuracy 0.812 balanced 0.790, 33.1 s"
)
INNOCENT = [
    "continuing after step 120 of 640",
    "/gcs/models/runs/model: weights 0123456789ab, accuracy 0.8123",
    "trainer: learning_rate must be above 0; give a number above 0.",
    "overnight: data/labels.duckdb: there is no table 'labels'; create it.",
    "pets:3 is the champion already; nothing changed.",
    "The replica workerpool0-0 was restarted.",
    "launch: 16 GB of memory",
    "Job completed successfully.",
]
PATTERNS = {
    name: getattr(log_lines, name)
    for name in (
        "JOB_FAILED",
        "LOSS_DIVERGED",
        "OUT_OF_MEMORY",
        "SNAPSHOT_REJECTED",
        "MODEL_PROMOTED",
        "MODEL_REFUSED",
        "TRAIN_LOSS",
        "VALIDATION_ACCURACY",
    )
}


def matching(text: str) -> set[str]:
    """Names of the patterns found in `text`."""
    return {name for name, pattern in PATTERNS.items() if re.search(pattern, text)}


@pytest.mark.parametrize("line", INNOCENT)
def test_an_innocent_line_matches_nothing(line: str) -> None:
    assert matching(line) == set()


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_need_no_backslash_which_a_filter_would_want_doubled(name: str) -> None:
    assert "\\" not in PATTERNS[name]


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_diverged_loss_is_found_as_the_trainer_says_it(loss: float, capsys: Output) -> None:
    def diverging(_: Sequence[str]) -> int:
        train._check_loss(loss, 12, 0.1)
        return 0

    assert fail_in_one_sentence(diverging, []) == 2
    assert matching(capsys.readouterr().err) == {"LOSS_DIVERGED"}


def test_a_rejected_snapshot_is_found_as_the_command_says_it(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, week = House(tmp_path, limits={"min_rows": 1_000_000}), first_week()
    house.write_labels(week.rows)
    house.write_shards(week.images)
    monkeypatch.setattr(sys, "argv", ["overnight", "snapshot", "create", "--config", str(house.config)])
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 3
    assert matching(capsys.readouterr().err) == {"SNAPSHOT_REJECTED"}


@pytest.mark.parametrize(("decision", "found"), [("promoted", "MODEL_PROMOTED"), ("refused", "MODEL_REFUSED")])
def test_the_gates_decision_is_found_as_the_command_prints_it(decision: str, found: str, capsys: Output) -> None:
    version = ModelVersion("pets", 3, "20261130-020000-0123abcd", "2026-11-30T06:00:00Z", "00", "00", Path("models"))
    made = Decision(
        time=version.created,
        model=version.name,
        version=version.version,
        decision=decision,  # type: ignore[arg-type]
        reason="it beats the champion",
        champion_before=2,
        run_id=version.run_id,
        snapshot=None,
    )
    verdict = Verdict(decision=made.decision, reason=made.reason, criteria=(), notes=())
    model._print_outcome(Outcome(version, made, verdict))
    assert matching(capsys.readouterr().out) == {found}


def test_loss_and_accuracy_are_read_from_the_line_after_an_evaluation() -> None:
    validation = {"loss": 0.98703, "accuracy": 0.8121, "balanced_accuracy": 0.79}
    entry = {"epoch": 3, "step": 120, "size": 160, "train_loss": 1.2349, "validation": validation, "seconds": 33.07}
    line = finish._line(entry, 16, 640)
    assert line == EPOCH
    for pattern, value in ((log_lines.TRAIN_LOSS, "1.235"), (log_lines.VALIDATION_ACCURACY, "0.812")):
        found = re.search(pattern, line)
        assert found is not None
        assert found.groups() == (value,)


def _cuda() -> None:
    # The class is PyTorch's, the text the beginning of what its CUDA allocator writes.
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of …")


@pytest.mark.parametrize(
    "allocate",
    [
        _cuda,
        lambda: torch.empty(1 << 50),
        lambda: np.empty(1 << 55, np.uint8),
        lambda: bytearray(1 << 62),
    ],
    ids=["cuda", "torch", "numpy", "python"],
)
def test_running_out_of_memory_is_found_in_the_traceback(allocate: Callable[[], object]) -> None:
    with pytest.raises((RuntimeError, MemoryError)) as raised:
        allocate()
    assert matching("".join(traceback.format_exception(raised.value))) == {"OUT_OF_MEMORY"}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error.", {"JOB_FAILED"}),
        (
            "The replica workerpool0-0 ran out of memory and exited with a non-zero status of 137.",
            {"JOB_FAILED", "OUT_OF_MEMORY"},
        ),
        (
            "The replica master 0 ran out-of-memory and exited with a non-zero status of 9(SIGKILL)",
            {"JOB_FAILED", "OUT_OF_MEMORY"},
        ),
        (
            "Resources are insufficient in region: us-central1. Try a different region or use a different accelerator.",
            {"JOB_FAILED"},
        ),
        (
            "The following quota metrics exceed quota limits: "
            "aiplatform.googleapis.com/custom_model_training_nvidia_a100_gpus",
            {"JOB_FAILED"},
        ),
    ],
)
def test_a_failed_job_is_found_as_vertex_ai_documents_it(line: str, found: set[str]) -> None:
    assert matching(line) == found


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_an_unparsed_structured_line_is_found(separators: tuple[str, str]) -> None:
    overnight = {"environment": "prod", "event": "run_finished", "run_id": "20261130-020000-0123abcd"}
    overnight["schedule"] = "weekly"
    line = json.dumps({"message": "done", "overnight": overnight}, sort_keys=True, separators=separators)
    assert re.search(log_lines.structured("run_finished"), line)
    assert re.search(log_lines.structured("run_finished", environment="prod", schedule="weekly"), line)
    assert not re.search(log_lines.structured("snapshot_rejected"), line)
    assert not re.search(log_lines.structured("run_finished", environment="dev", schedule="weekly"), line)
