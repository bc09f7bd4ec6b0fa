"""What a run leaves behind: the record of each evaluation, and at its end the model and what explains it."""

import os
import sys
from collections.abc import Callable
from datetime import datetime

from trainer.data.pillow import word_of
from trainer.export import export_model
from trainer.hypertune import report_metric
from trainer.image import as_json
from trainer.input_report import InputReport
from trainer.metrics import Metrics, final_table
from trainer.profile import Profile
from trainer.records import Attempt, write_metrics, write_profile, write_result
from trainer.run import Run
from trainer.schedule import image_size, learning_rate
from trainer.state import Progress, RunState


def record_evaluation(
    run: Run, progress: Progress, epoch: int, metrics: Metrics, seconds: float, now: datetime
) -> None:
    """Append to the history what this evaluation showed, print it, and tell a tuning study.

    `seconds` is the run's wall time so far, over all attempts. Called on every rank.
    """
    config, plan, last_step = run.config, run.plan, progress.step - 1
    entry = {
        "epoch": epoch,
        "step": progress.step,
        "train_loss": progress.loss_sum / max(1, progress.loss_steps),
        "learning_rate": learning_rate(
            config.schedule, config.optimizer.learning_rate, last_step, plan.total_steps, plan.steps_per_epoch
        ),
        "size": image_size(config.size, last_step, plan.total_steps, plan.steps_per_epoch),
        "validation": metrics.summary(),
        "seconds": seconds,
    }
    progress.epochs.append(entry)
    progress.loss_sum, progress.loss_steps = 0.0, 0
    if run.worker.leads:
        print(_line(entry, config.epochs, plan.total_steps), flush=True)
        tag = config.evaluation.hyperparameter_metric
        report_metric(os.environ, tag, metrics.summary()[tag], progress.step, now.timestamp())


def _line(entry: dict[str, object], epochs: int, total_steps: int) -> str:
    validation = entry["validation"]
    assert isinstance(validation, dict)
    return (
        f"epoch {entry['epoch']}/{epochs} step {entry['step']}/{total_steps} size {entry['size']} "
        f"train loss {entry['train_loss']:.3f}, validation: loss {validation['loss']:.3f} "
        f"accuracy {validation['accuracy']:.3f} balanced {validation['balanced_accuracy']:.3f}, "
        f"{entry['seconds']:.1f} s"
    )


def finish(
    run: Run,
    attempt: Attempt,
    state: RunState,
    metrics: Metrics,
    report: InputReport,
    profile: Profile,
    first_step: int,
    clock: Callable[[], datetime],
) -> None:
    """Write model/, metrics.json, profile.json and, last of all, result.json. On rank 0. Raises OSError."""
    config, progress = run.config, state.progress
    weights_sha256 = export_model(run.output / "model", state.best_model, config, run.classes)
    write_metrics(run.output, progress, final_table(metrics, run.classes, "validation"))
    steps = progress.step - first_step
    write_profile(run.output, config, report, profile.seconds(), steps, run.worker.world_size)
    if (word := word_of(report.slow_samples, steps * config.batch_size)) is not None:
        print(word, file=sys.stderr, flush=True)
    snapshot = run.snapshot
    facts = {
        "snapshot": {"name": snapshot.name, "sha256": snapshot.sha256},
        "shard_set": {"name": snapshot.shard_set_name, "sha256": snapshot.shard_set_sha256},
        "image": as_json(run.image),
        "weights_sha256": weights_sha256,
        "steps": progress.step,
        "samples": progress.step * config.batch_size,
    }
    write_result(run.output, facts, config, attempt, clock())
    print(f"{run.output / 'model'}: weights {weights_sha256[:12]}, accuracy {metrics.accuracy:.4f}", flush=True)
