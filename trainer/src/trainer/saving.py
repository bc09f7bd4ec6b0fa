"""Saving a run's state when it is due, and finding the state to continue from."""

import time
from pathlib import Path

from trainer.checkpoint import Checkpoint, CheckpointWriter, newest, remove_stale
from trainer.config import LATER, RunConfig, config_digest, deciding, result_fields
from trainer.errors import CheckpointError, ConfigError
from trainer.files import read_json
from trainer.profile import Profile
from trainer.run import Run
from trainer.state import RunState


class Saver:
    """Decides when rank 0 saves. No decision of it changes what is learned."""

    def __init__(self, run: Run, state: RunState, profile: Profile) -> None:
        self._run = run
        self._state = state
        self._profile = profile
        self._writer = CheckpointWriter(run.checkpoints, run.config.checkpoint.keep) if run.worker.leads else None
        self._last_time = time.monotonic()
        self._last_step = state.progress.step

    def save_if_due(self) -> None:
        """Save after so many steps or seconds; not while the last checkpoint is still being written.

        Raises CheckpointError when an earlier one could not be written.
        """
        config, step = self._run.config.checkpoint, self._state.progress.step
        if self._writer is None or step == self._last_step:
            return
        self._writer.check()
        by_steps = config.every_steps > 0 and step % config.every_steps == 0
        by_time = config.every_seconds > 0 and time.monotonic() - self._last_time >= config.every_seconds
        if by_steps or (by_time and not self._writer.busy):
            self._save(self._writer)

    def save_and_wait(self) -> None:
        """Save now and return when it is on disk. Raises CheckpointError."""
        if self._writer is None:
            return
        if self._state.progress.step != self._last_step:
            self._save(self._writer)
        with self._profile.phase("checkpoint"):
            self._writer.wait()

    def _save(self, writer: CheckpointWriter) -> None:
        run, state = self._run, self._state
        step = state.progress.step
        with self._profile.phase("checkpoint"):
            facts = {
                **state.facts(),
                "position": step * run.config.batch_size,
                "epoch": step * run.config.batch_size / run.plan.samples,
                "world_size": run.worker.world_size,
                "config": result_fields(run.config),
                "config_sha256": config_digest(run.config),
                "snapshot_sha256": run.snapshot.sha256,
                "image_digest": run.image_digest,
            }
            facts["progress"]["seconds"] += self._profile.wall_seconds()
            writer.save(step, state.tensors(), facts)
        self._last_time, self._last_step = time.monotonic(), step


def find_checkpoint(
    folder: Path, config: RunConfig, snapshot_sha256: str, image_digest: str | None = None
) -> Checkpoint | None:
    """The newest complete checkpoint in `folder`, when it is of this very run; None when there is none.

    What killed processes left half written is removed. Raises CheckpointError when the checkpoint
    belongs to another configuration, snapshot or image.
    """
    remove_stale(folder)
    checkpoint = newest(folder)
    if checkpoint is None:
        return None
    if difference := difference_of(checkpoint.manifest.get("config", {}), result_fields(config)):
        raise CheckpointError(
            f"the checkpoint was made with another configuration ({difference})",
            where=str(checkpoint.folder),
            remedy="set the field back, or give another --output",
        )
    if checkpoint.manifest["snapshot_sha256"] != snapshot_sha256:
        raise CheckpointError(
            "the checkpoint was made with another snapshot",
            where=str(checkpoint.folder),
            remedy="give that snapshot, or another --output",
        )
    if difference := _another_image(checkpoint.manifest.get("image_digest"), image_digest):
        raise CheckpointError(
            f"the checkpoint was made in another image ({difference})",
            where=str(checkpoint.folder),
            remedy="pin that image, or give another --output",
        )
    return checkpoint


def is_complete(output: Path, config: RunConfig, snapshot_sha256: str, image_digest: str | None = None) -> bool:
    """Whether this very run has already ended in `output`; raises ConfigError when another one has."""
    path = output / "result.json"
    if not path.exists():
        return False
    result = read_json(path, "overnight.result/1")
    difference = difference_of(deciding(result["hyperparameters"]), result_fields(config))
    if result["snapshot"]["sha256"] != snapshot_sha256:
        difference = "another snapshot"
    if not difference:
        difference = _another_image((result.get("image") or {}).get("digest"), image_digest)
    if difference:
        raise ConfigError(
            f"another run has ended in this folder ({difference})", where=str(output), remedy="give another --output"
        )
    return True


def _another_image(before: str | None, now: str | None) -> str:
    """How images differ, in words; empty where they do not, or where nothing tells what the first was."""
    if before is None or before == now:
        return ""
    return f"image was {before} and is {now or 'not known by its digest'}"


def difference_of(before: dict[str, object], now: dict[str, object]) -> str:
    """The first field that differs, in words; empty when none does."""
    for name in sorted(before.keys() | now.keys()):
        was, value = (fields.get(name, LATER.get(name)) for fields in (before, now))
        if was != value:
            return f"{name} was {was!r} and is {value!r}"
    return ""
