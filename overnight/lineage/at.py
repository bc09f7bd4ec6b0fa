"""Which model was in charge on a day, and what made it: the audit question, answered from the log and the record."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import read_json
from overnight.lineage.record import RUN_FORMAT
from overnight.models import registry
from overnight.models.promotions import Decision, champion_entry_at, entries


@dataclass(frozen=True)
class Reign:
    """A champion, from when to when, and the record of the run that made it."""

    version: registry.ModelVersion
    since: Decision
    """The decision that made it champion."""
    until: Decision | None
    """The decision that replaced it; None when it still is champion."""
    record: dict[str, Any]
    """Its run.json."""


def champion_on(models: Path, day: date, name: str | None) -> Reign:
    """The champion of model `name` at the end of `day` (UTC); without a name there must be one model only.

    Raises OvernightError when there was none yet, PromotionLogError when the log was tampered with.
    """
    model = name or _only_model(models)
    log = entries(models, model)
    since = champion_entry_at(models, model, day)
    if since is None:
        raise OvernightError(
            f"no version of {model} was champion on {day}", where=str(models / model), remedy=_first(log)
        )
    later = log[log.index(since) + 1 :]
    until = next((entry for entry in later if entry.decision == "promoted" and entry.version != since.version), None)
    version = registry.version(models, model, since.version)
    return Reign(version, since, until, read_json(version.folder / "run.json", RUN_FORMAT))


def answer(reign: Reign) -> dict[str, Any]:
    """The answer as plain data, in the order a person asks."""
    record = reign.record
    return {
        "model": reign.version.name,
        "version": reign.version.version,
        "champion_from": reign.since.time,
        "champion_until": reign.until.time if reign.until else None,
        "replaced_by": reign.until.version if reign.until else None,
        "reason": reign.since.reason,
        "run_id": reign.version.run_id,
        "weights_sha256": reign.version.weights_sha256,
        "images": [image["reference"] for image in record["images"]],
        "trainer_image": record.get("trainer_image"),
        "environment_sha256": record["environment"]["sha256"],
        "git": record["git"],
        "snapshot": record["snapshot"],
        "label_table": record["label_table"],
        "shard_set": record["shard_set"],
        "seed": record["seed"],
        "hyperparameters": record["hyperparameters"],
        "metrics": record["metrics"],
        "evaluation": dict(reign.since.evaluation),
    }


def _only_model(models: Path) -> str:
    known = registry.names(models)
    if len(known) == 1:
        return known[0]
    if not known:
        raise OvernightError(
            "there is no model yet", where=str(models), remedy="promote a run first: overnight model promote RUN"
        )
    raise OvernightError(
        f"there are {len(known)} models", where=str(models), remedy=f"choose by --model: {', '.join(known)}"
    )


def _first(log: list[Decision]) -> str:
    promoted = [entry for entry in log if entry.decision == "promoted"]
    if not promoted:
        return "none has been promoted yet"
    return f"the first promotion was at {promoted[0].time}"
