"""What tests of submitted jobs share: small specs for a local Vertex AI, plans, clocks."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from overnight.config import load
from overnight.jobs.context import context_of
from overnight.jobs.document import load_document
from overnight.jobs.place import place_of
from overnight.jobs.plan import Plan, make_plan, snapshot_named

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "config" / "example.yaml"
ENVIRONMENT = load(CONFIG)
NOW = datetime(2026, 11, 30, 20, tzinfo=UTC)
SNAPSHOT = "20261127-0123456789ab"
IMAGE = f"us-central1-docker.pkg.dev/acme-vision-prod/example-images/trainer-gpu@sha256:{'4b' * 32}"
KEY = "projects/acme-vision-prod/locations/us-central1/keyRings/example-overnight/cryptoKeys/training"

SPEC = f"""\
customJob:
  displayName: small
  encryptionSpec: {{kmsKeyName: {KEY}}}
  jobSpec:
    workerPoolSpecs:
      - replicaCount: 1
        machineSpec: {{machineType: n1-standard-8, acceleratorType: NVIDIA_TESLA_T4, acceleratorCount: 1}}
        containerSpec:
          imageUri: {IMAGE}
          command: [{sys.executable}, -c, CODE]
overnight:
  model: classifier
"""
FALLBACKS = """\
  fallbacks:
    - machineSpec: {machineType: g2-standard-8, acceleratorType: NVIDIA_L4, acceleratorCount: 1}
    - strategy: SPOT
"""


def spec_file(folder: Path, code: str = "print('hello')", more: str = "") -> Path:
    """A job spec whose one replica runs `code`; `more` is added to the overnight block."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "small.yaml"
    path.write_text(SPEC.replace("CODE", f'"{code}"') + more, encoding="utf-8")
    return path


def planned(
    spec: Path, now: datetime = NOW, run_id: str | None = None, snapshot: str = SNAPSHOT, tensorboard: str | None = None
) -> Plan:
    """The plan of a spec in config/example.yaml."""
    place, context = place_of(ENVIRONMENT, tensorboard), context_of(ENVIRONMENT, now.date())
    return make_plan(load_document(spec), place, context, snapshot_named(snapshot), now, run_id)


class Time:
    """A clock that only sleeping moves; `naps` are the seconds slept."""

    def __init__(self) -> None:
        self.now = NOW
        self.naps: list[float] = []

    def clock(self) -> datetime:
        """The time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Pass time at once."""
        self.naps.append(seconds)
        self.now += timedelta(seconds=seconds)
