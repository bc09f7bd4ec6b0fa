"""Find what a job spec asks for in the environment."""

from overnight.config import Environment
from overnight.jobs.resolve import Inputs
from overnight.labels.snapshots import find_snapshot


def find_inputs(environment: Environment, snapshot: str) -> Inputs:
    """Folders of the snapshot called `snapshot` (or `latest`) and of the shards; raises LabelsError."""
    return Inputs(find_snapshot(environment.snapshots_path, snapshot).folder, environment.shards_path)
