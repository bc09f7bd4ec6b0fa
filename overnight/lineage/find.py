"""What a person may ask the lineage of: a run id, `model:version`, or a model's name for its champion."""

from pathlib import Path

from overnight.config import Environment
from overnight.errors import OvernightError
from overnight.lineage.audit import Places, explain_run, explain_version
from overnight.lineage.record import RUN_ID
from overnight.lineage.tree import Node
from overnight.models.resolve import registered


def explain(environment: Environment, target: str, checkout: Path, deep: bool) -> Node:
    """The audit tree of `target`; `checkout` is the folder whose git checkout should hold the commits.

    Raises OvernightError when there is no such run, model or version.
    """
    places = Places(environment.root_path, checkout)
    try:
        if RUN_ID.fullmatch(target):
            return _run(environment, places, target, deep)
        return explain_version(places, registered(environment.models_path, target), deep)
    except (KeyError, TypeError) as error:
        raise OvernightError(
            f"the record of {target} does not hold what docs/formats.md says ({type(error).__name__}: {error})",
            where=str(environment.root_path),
            remedy="restore run.json from a backup",
        ) from None


def _run(environment: Environment, places: Places, run_id: str, deep: bool) -> Node:
    if not (environment.runs_path / run_id / "run.json").is_file():
        raise OvernightError(
            f"run {run_id} has no run.json",
            where=str(environment.runs_path),
            remedy="it has not ended, or there is no such run",
        )
    return explain_run(places, run_id, deep)
