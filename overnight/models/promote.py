"""From a run to a decision: register, evaluate, judge, write down. And the way back: rollback."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from overnight.config import Environment, GateConfig
from overnight.files import canonical_json, read_json, sha256_bytes, write_atomically
from overnight.models import evaluation, predictions, promotions, registry
from overnight.models.comparison import Comparison, compare
from overnight.models.evaluation import Say, SplitData
from overnight.models.gate import Verdict, decide
from overnight.models.promotions import Decision
from overnight.models.registry import HeldModel, ModelVersion, RegistryError
from overnight.models.resolve import run_folder

GATE_FORMAT = "overnight.gate/1"


@dataclass(frozen=True)
class Outcome:
    """What `promote` did."""

    version: ModelVersion
    decision: Decision
    verdict: Verdict | None
    """None when the version was champion already and nothing was decided anew."""

    @property
    def promoted(self) -> bool:
        """Whether the version is champion now."""
        return self.decision.decision == "promoted"


@dataclass(frozen=True)
class Challenge:
    """Who challenges whom, on which data."""

    version: ModelVersion
    champion: ModelVersion | None
    data: SplitData
    run_folder: Path


def promote(environment: Environment, run_id: str, name: str | None, now: datetime, say: Say) -> Outcome:
    """Register run `run_id`, let the gate judge it against the champion and append the decision to the log.

    `name` is the model's name in the registry; None takes the run record's. Both models and the baselines are
    evaluated on the run's own snapshot. A version that is champion already stays so without a new decision.
    Raises RegistryError for a run that is unknown or failed, TrainerFailed when an evaluation fails.
    """
    folder = run_folder(environment.runs_path, run_id)
    run = read_json(folder / "run.json", "overnight.run/1")
    with registry.hold(environment.models_path, _model_name(run, name, folder)) as model:
        version = registry.register(model, folder, now)
        reigning = promotions.champion_entry(environment.models_path, model.name)
        if reigning is not None and reigning.version == version.version:
            return Outcome(version, reigning, None)
        champion = registry.version(environment.models_path, model.name, reigning.version) if reigning else None
        data = evaluation.open_split(
            environment.snapshots_path, environment.shards_path, environment.gate.split, run["snapshot"]
        )
        challenge = Challenge(version, champion, data, folder)
        measured = _measure(challenge, environment.gate, say)
        verdict = decide(measured, environment.gate)
        decision = _write_down(model, challenge, measured, verdict, environment.gate, now)
    return Outcome(version, decision, verdict)


def rollback(environment: Environment, name: str, number: int, reason: str, now: datetime) -> Decision:
    """Make version `number` champion again by a decision that a person gives a reason for.

    Raises RegistryError when the version is missing, damaged or champion already.
    """
    if not reason.strip():
        raise RegistryError("a rollback needs a reason", where="--reason", remedy="say why, for the log")
    entry = registry.version(environment.models_path, name, number)
    registry.verify(entry)
    with registry.hold(environment.models_path, name) as model:
        before = promotions.champion_now(environment.models_path, name)
        if before == number:
            raise RegistryError(f"{entry.reference} is the champion already", remedy="choose another version")
        decision = Decision(
            time=promotions.decided(now),
            model=name,
            version=number,
            decision="promoted",
            reason=f"rollback: {reason.strip()}",
            champion_before=before,
            run_id=entry.run_id,
            snapshot=None,
        )
        promotions.append(model, decision)
    return decision


def _model_name(run: dict[str, Any], name: str | None, folder: Path) -> str:
    chosen = name or run.get("model")
    if not chosen:
        raise RegistryError(
            "the run record does not say which model this is", where=str(folder / "run.json"), remedy="give --model"
        )
    return str(chosen)


def _measure(challenge: Challenge, rules: GateConfig, say: Say) -> Comparison:
    cache, data = challenge.run_folder / "evaluation", challenge.data
    if challenge.champion is not None:
        registry.verify(challenge.champion)
    # Each is a process of its own, on one core; they do not depend on each other.
    with ThreadPoolExecutor(max_workers=2) as side_by_side:
        linear = side_by_side.submit(evaluation.of_pixel_linear, data, cache, say)
        challenger = side_by_side.submit(evaluation.of_version, challenge.version, data, cache, say)
        champion = challenge.champion and side_by_side.submit(
            evaluation.of_version, challenge.champion, data, cache, say
        )
    return compare(
        challenger.result(),
        champion.result() if champion else None,
        predictions.constant(challenger.result(), evaluation.majority_class(data.snapshot)),
        linear.result(),
        confidence=rules.confidence,
        samples=rules.bootstrap_samples,
        seed=rules.seed,
    )


def _write_down(
    model: HeldModel, challenge: Challenge, measured: Comparison, verdict: Verdict, rules: GateConfig, now: datetime
) -> Decision:
    """Write gate.json beside the run, then the log line: a line never points at numbers that are not there."""
    snapshot = {"name": challenge.data.snapshot.name, "sha256": challenge.data.snapshot_sha256}
    decision = Decision(
        time=promotions.decided(now),
        model=challenge.version.name,
        version=challenge.version.version,
        decision=verdict.decision,
        reason=verdict.reason,
        champion_before=challenge.champion.version if challenge.champion else None,
        run_id=challenge.version.run_id,
        snapshot=snapshot,
    )
    record = {
        **asdict(decision),
        "format": GATE_FORMAT,
        "rules": rules.model_dump(),
        "criteria": [asdict(criterion) for criterion in verdict.criteria],
        "notes": list(verdict.notes),
        "comparison": _plain(asdict(measured)),
    }
    del record["evaluation"]
    data = canonical_json(record)
    write_atomically(challenge.run_folder / "evaluation" / "gate.json", data)
    decision = replace(decision, evaluation=_summary(measured, verdict, sha256_bytes(data)))
    promotions.append(model, decision)
    return decision


def _summary(measured: Comparison, verdict: Verdict, gate_sha256: str) -> dict[str, Any]:
    """What the log keeps for ever, also when the run's folder is gone."""
    champion = measured.champion
    summary = {
        "split": measured.split,
        "images": measured.images,
        "groups": measured.groups,
        "accuracy": asdict(measured.challenger.accuracy),
        "balanced_accuracy": asdict(measured.challenger.balanced_accuracy),
        "champion_accuracy": asdict(champion.score.accuracy) if champion else None,
        "lead": asdict(champion.lead) if champion else None,
        "majority_accuracy": measured.majority.score.accuracy.value,
        "pixel_linear_accuracy": measured.pixel_linear.score.accuracy.value,
        "criteria": [asdict(criterion) for criterion in verdict.criteria],
        "gate_sha256": gate_sha256,
    }
    plain: dict[str, Any] = _plain(summary)
    return plain


def _plain(value: Any) -> Any:
    """JSON values: six digits of every number, NaN as null."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 6) + 0.0
    return value
