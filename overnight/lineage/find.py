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
    if RUN_ID.fullmatch(target):
        if not (environment.runs_path / target / "run.json").is_file():
            raise OvernightError(
                f"run {target} has no run.json",
                where=str(environment.runs_path),
                remedy="it has not ended, or there is no such run",
            )
        return explain_run(places, target, deep)
    return explain_version(places, registered(environment.models_path, target), deep)
