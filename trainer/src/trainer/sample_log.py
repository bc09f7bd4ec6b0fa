"""samples.log: which samples every step trained on, for whoever wants to check the order."""

import json
import os
from pathlib import Path
from typing import IO

import numpy as np

from trainer.data.loader import TrainBatch
from trainer.data.order import digest
from trainer.distributed import gather
from trainer.run import Run


class SampleLog:
    """One JSON line a step: `{"attempt", "digest", "epochs", "samples", "step"}`, of the whole global batch.

    The samples are those that the workers really got, gathered from all of them. After a resume, steps
    that were lost occur again with a higher attempt.
    """

    def __init__(self, run: Run, attempt: int) -> None:
        self._run = run
        self._attempt = attempt
        self._file: IO[str] | None = None
        if run.config.data.log_samples and run.worker.leads:
            path = run.output / "samples.log"
            _cut_partial_line(path)
            self._file = path.open("a", buffering=1, encoding="utf-8")

    def write(self, batch: TrainBatch) -> None:
        """Log a step's samples; a collective operation when the log is on, nothing when it is off."""
        if not self._run.config.data.log_samples:
            return
        parts = gather(self._run.worker, (np.asarray(batch.epochs), np.asarray(batch.samples)))
        if self._file is None:
            return
        epochs, samples = (np.concatenate(column) for column in zip(*parts, strict=True))
        line = {
            "attempt": self._attempt,
            "digest": digest(epochs, samples),
            "epochs": epochs.tolist(),
            "samples": samples.tolist(),
            "step": int(batch.step),
        }
        self._file.write(json.dumps(line, sort_keys=True) + "\n")

    def close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()


def _cut_partial_line(path: Path) -> None:
    """Remove what a killed process had begun to write."""
    if path.exists() and not (content := path.read_bytes()).endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
