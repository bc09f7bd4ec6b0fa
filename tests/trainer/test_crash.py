"""A two-worker training that is killed again and again ends in the very weights of one that nobody touched."""

from pathlib import Path
from types import ModuleType

import pytest

from trainer.run import Paths


@pytest.mark.slow
def test_five_kills_and_two_changes_of_workers_do_not_change_what_is_learned(
    dataset: Paths, tmp_path: Path, crash_drill: ModuleType
) -> None:
    settings = (*crash_drill.SETTINGS, "batch_size=6", "micro_batch_size=3", "epochs=8")
    training = crash_drill.Training(dataset.snapshot, dataset.shards, settings)
    kills = crash_drill.kill_drill(training, tmp_path, kills=5, seed=0)
    assert kills.killed_sha256 == kills.undisturbed_sha256
    assert len(kills.kills) == 5
    assert all(kill.lost_steps >= 0 for kill in kills.kills)

    workers = crash_drill.worker_drill(training, tmp_path / "undisturbed", tmp_path / "changed")
    assert workers.same_sequence
    assert workers.once_an_epoch
    # Two micro-batches in all: one worker and two add the same two floats.
    assert workers.same_weights
    assert workers.loss_difference == 0
