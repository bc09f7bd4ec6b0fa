from pathlib import Path

import pytest

GOOD = """\
customJob:
  displayName: weekly
  labels: {team: vision}
  jobSpec:
    workerPoolSpecs:
      - replicaCount: 1
        containerSpec:
          command: [python, -m, trainer.launch]
          args: [--preset=demo]
          env:
            - {name: OMP_NUM_THREADS, value: "1"}
      - replicaCount: "2"
        machineSpec: {machineType: n1-standard-8, acceleratorType: NVIDIA_TESLA_T4, acceleratorCount: 1}
        containerSpec:
          command: [python, -m, trainer.launch]
    scheduling:
      timeout: 3600s
      strategy: SPOT
      restartJobOnWorkerRestart: true
overnight:
  model: classifier
  snapshot: latest
"""


@pytest.fixture
def good() -> str:
    """A job spec that is right, as text."""
    return GOOD


@pytest.fixture
def write(tmp_path: Path):
    """A maker of job spec files."""

    def make(text: str) -> Path:
        path = tmp_path / "job.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return make
