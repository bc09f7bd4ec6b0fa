"""What a local Vertex AI is told when it starts."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from overnight.vertex_local.engine.retries import IN_PLACE_RESTARTS, JOB_RESTARTS
from overnight.vertex_local.engine.stockouts import Stockout


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every choice; the defaults are those of `overnight vertex serve`."""

    project: str = "overnight-local"
    """The project id whose number is `project_number`; every other id has a number of its own made from it."""
    project_number: str = "100000000001"
    locations: tuple[str, ...] = ()
    """The regions served; empty: any."""
    machine_slots: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    """Replicas that may run at the same time in one region, outside persistent resources; what does not fit stays
    QUEUED. A job that is larger runs alone. Default: one a core."""
    stockouts: tuple[Stockout, ...] = ()
    """Attempts to get machines that find none."""
    preemption_seed: int | None = None
    """When set, Spot jobs are preempted at moments drawn from this seed; otherwise only when somebody asks."""
    preemption_mean_seconds: float = 600.0
    """How long a Spot job runs on average before it is preempted, where there is a seed."""
    grace_seconds: float = 30.0
    """Seconds between SIGTERM and SIGKILL: what a Spot machine has."""
    retry_seconds: float = 1.0
    """How long a job waits after a stock-out or a preemption before it asks for machines again."""
    in_place_restarts: int = IN_PLACE_RESTARTS
    """How often a failed replica starts again in place."""
    job_restarts: int = JOB_RESTARTS
    """How often the whole job starts again after that."""
    provision_seconds: float = 0.2
    """How long a persistent resource takes to be RUNNING."""
    paths: Literal["gcs", "local"] = "gcs"
    """What jobs see of buckets: `gs://` strings as on Vertex AI, or local folders in their place."""
    study_seed: int = 0
    """From which the points of tuning jobs follow."""
    templates: Path | None = None
    """Where pipeline templates lie: `<project>/<repository>/<name>/<tag>.yaml` (or .json)."""
