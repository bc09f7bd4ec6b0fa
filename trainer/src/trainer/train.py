"""Train a model: read this file top to bottom.

    python -m trainer --preset demo --snapshot DIR --shards DIR --output DIR        one process
    python -m trainer.launch …the same…                                            as many as CLUSTER_SPEC says

A run is a function of its configuration, its snapshot and nothing else. Step s trains on positions
s*B to (s+1)*B of one endless stream of samples (every epoch a new permutation), and all chance is drawn
from (seed, step, position): whoever resumes at step s goes on exactly as if nothing had happened.
"""

import math
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime

import torch
from torch import Tensor

from trainer.config import RunConfig
from trainer.data.ahead import beside_evaluation
from trainer.data.augment import augment_batch, augment_parameters
from trainer.data.loader import TrainBatch, TrainLoader
from trainer.data.plain import PlainLoader
from trainer.distributed import join, leave, on_leader
from trainer.errors import TrainerError
from trainer.evaluate import Pass, measure_rows
from trainer.export import Preprocessing, use_fixed_threads
from trainer.files import holding
from trainer.finish import finish, record_evaluation
from trainer.image import Image
from trainer.input_report import InputReport, input_report
from trainer.metrics import Metrics
from trainer.optimizer import class_weights
from trainer.profile import Profile
from trainer.records import begin_attempt, write_config
from trainer.run import Paths, Run, initial_state, prepare
from trainer.sample_log import SampleLog
from trainer.saving import Saver, find_checkpoint, is_complete
from trainer.schedule import image_size, learning_rate
from trainer.state import RunState
from trainer.step import TrainStep, freeze_backbone, normalised
from trainer.stopping import STOPPED, StopSignal, listening

Clock = Callable[[], datetime]


class Diverged(TrainerError):
    """The loss is no longer a number."""


def train(config: RunConfig, paths: Paths, clock: Clock = lambda: datetime.now(UTC), image: Image | None = None) -> int:
    """Train to the end, or until SIGTERM: 0, or 143 with a checkpoint saved. `image` is what this process runs in.

    Raises TrainerError for whatever the user can put right.
    """
    profile = Profile()
    use_fixed_threads(config.compute.torch_threads, config.compute.deterministic)
    worker = join(config.compute.device)
    with ExitStack() as stack:
        stack.callback(leave)
        stop = stack.enter_context(listening())
        config.check_workers(worker.world_size, worker.device.type)
        run = prepare(config, paths, worker, image)
        on_leader(worker, lambda: stack.enter_context(holding(run.output)))
        if on_leader(worker, lambda: _already_complete(run)):
            return 0
        attempt = on_leader(worker, lambda: begin_attempt(run.output, clock()))
        state = initial_state(run)
        _tell_share(run)
        _resume(run, state)
        on_leader(worker, lambda: write_config(run.output, config))
        if worker.device.type == "cuda":
            profile.synchronize = torch.cuda.synchronize
        first_step = state.progress.step
        log = stack.enter_context(closing(SampleLog(run, attempt.number)))
        outcome = _train(run, state, stop, profile, log, clock)
        if outcome is None:
            return STOPPED
        metrics, report = outcome
        if worker.leads:
            finish(run, attempt, state, metrics, report, profile, first_step, clock)
    return 0


def _already_complete(run: Run) -> bool:
    if is_complete(run.output, run.config, run.snapshot.sha256, run.image_digest):
        print(f"{run.output}: this very run is complete already, nothing to do", flush=True)
        return True
    return False


def _tell_share(run: Run) -> None:
    share = run.config.data.subsample
    if share < 1 and run.worker.leads:
        images = f"{len(run.train_rows)} of {run.snapshot.splits['train']} images"
        print(f"training on {images}: data.subsample is {share:g}", flush=True)


def _resume(run: Run, state: RunState) -> None:
    checkpoint = on_leader(
        run.worker, lambda: find_checkpoint(run.checkpoints, run.config, run.snapshot.sha256, run.image_digest)
    )
    if checkpoint is None:
        return
    state.restore(checkpoint.tensors(), checkpoint.manifest)
    if run.worker.leads:
        print(f"continuing after step {checkpoint.step} of {run.plan.total_steps}", flush=True)


def _train(
    run: Run, state: RunState, stop: StopSignal, profile: Profile, log: SampleLog, clock: Clock
) -> tuple[Metrics, InputReport] | None:
    """All steps, evaluations and checkpoints.

    The last evaluation's metrics and what the workers' loaders met; None when told to stop.
    """
    plan, progress = run.plan, state.progress
    saver = Saver(run, state, profile)
    reading = Pass(run.config.evaluation.batch_size, run.config.data.threads, run.config.data.cache)
    train_step = _train_step(run, state, profile)
    with _train_loader(run, progress.step) as loader:
        batches = iter(loader)
        while True:
            if (epoch := _epoch_to_evaluate(run, state)) is not None:
                with profile.phase("evaluation"):
                    metrics = _evaluate(run, state, reading, stop)
                if metrics is None:
                    saver.save_and_wait()
                    return None
                seconds = progress.seconds + profile.wall_seconds()
                record_evaluation(run, progress, epoch, metrics, seconds, clock())
                if epoch == plan.epochs:
                    saver.save_and_wait()
                    return metrics, input_report(run.worker, loader, reading.traffic)
            saver.save_if_due()

            with profile.phase("data_wait"):
                batch = next(batches)
            log.write(batch)
            with profile.phase("copy"):
                images, class_ids = _to_device(run, batch)
            if train_step.frozen != plan.is_frozen(progress.step):
                train_step.close()
                train_step = _train_step(run, state, profile)
            rate = _learning_rate(run, progress.step)
            outcome = train_step.run(images, class_ids, rate, stop.requested)
            _check_loss(outcome.loss, progress.step, rate)
            progress.step += 1
            progress.loss_sum += outcome.loss
            progress.loss_steps += 1
            if outcome.stop:
                saver.save_and_wait()
                return None


def _train_loader(run: Run, start_step: int) -> TrainLoader:
    config, plan = run.config, run.plan
    loader = TrainLoader if config.data.loader == "native" else PlainLoader
    return loader(
        run.train_rows,
        order=run.order,
        batch_size=config.batch_size,
        rank=run.worker.rank,
        world_size=run.worker.world_size,
        size_at=lambda step: image_size(config.size, step, plan.total_steps, plan.steps_per_epoch),
        crop=config.augment.crop(),
        seed=config.seed,
        threads=config.data.threads,
        depth=config.data.depth,
        start_step=start_step,
        stop_step=plan.total_steps,
        policy=config.data.bad_samples,
        cache=beside_evaluation(config.data.cache, run.validation_rows),
    )


def _to_device(run: Run, batch: TrainBatch) -> tuple[Tensor, Tensor]:
    """The batch's images, augmented and normalised, and its classes, on the device."""
    config, device = run.config, run.worker.device
    images = torch.from_numpy(batch.images).to(device)
    if config.augment.strength > 0:
        parameters = augment_parameters(config.augment, config.seed, batch.epochs, batch.samples)
        images = augment_batch(images, parameters)
    ready = normalised(images, config.data.mean, config.data.std, config.compute.channels_last)
    return ready, torch.from_numpy(batch.class_ids).to(device)


def _train_step(run: Run, state: RunState, profile: Profile) -> TrainStep:
    """The step function for now: with the backbone frozen, or with the whole network."""
    frozen = run.plan.is_frozen(state.progress.step)
    freeze_backbone(state.model, state.head, frozen)
    counts = torch.bincount(torch.from_numpy(run.train_rows.class_ids), minlength=len(run.classes))
    balanced = run.config.data.sampling == "balanced"
    weights = class_weights(counts, run.config.loss.class_weight_power, balanced)
    return TrainStep(run.config, state, run.worker, weights, profile, frozen)


def _learning_rate(run: Run, step: int) -> float:
    config, plan = run.config, run.plan
    peak = config.optimizer.learning_rate
    return learning_rate(config.schedule, peak, step, plan.total_steps, plan.steps_per_epoch)


def _epoch_to_evaluate(run: Run, state: RunState) -> int | None:
    """The epoch that has just ended and was not measured yet; the last one again after a resume."""
    progress = state.progress
    epoch = run.plan.epoch_to_evaluate(progress.step)
    measured = bool(progress.epochs) and progress.epochs[-1]["step"] == progress.step
    return None if measured and progress.step < run.plan.total_steps else epoch


def _evaluate(run: Run, state: RunState, reading: Pass, stop: StopSignal) -> Metrics | None:
    preprocessing = Preprocessing.of(run.config)
    return measure_rows(
        state.best_model, run.validation_rows, preprocessing, reading, run.worker, lambda: stop.requested
    )


def _check_loss(loss: float, step: int, rate: float) -> None:
    if not math.isfinite(loss):
        raise Diverged(
            f"the loss became {loss} at step {step} with learning rate {rate:.3g}",
            remedy="lower optimizer.learning_rate, lengthen schedule.warmup_epochs or set optimizer.clip_norm",
        )
