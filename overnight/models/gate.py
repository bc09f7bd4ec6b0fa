"""The evaluation gate: may the challenger become champion? Pure rules over a Comparison; reasons: docs/promotion.md."""

from dataclasses import dataclass
from typing import Literal

from overnight.config import GateConfig
from overnight.models.comparison import ClassScore, Comparison, Opponent
from overnight.models.resampling import Interval
from overnight.wording import percent, points


@dataclass(frozen=True)
class Criterion:
    """One rule, what was measured and what would have been enough."""

    name: str
    passed: bool
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """The gate's answer: every rule's outcome, and one sentence why."""

    decision: Literal["promoted", "refused"]
    reason: str
    criteria: tuple[Criterion, ...]
    notes: tuple[str, ...]
    """What a reader should know although no rule depends on it."""


def decide(measured: Comparison, rules: GateConfig) -> Verdict:
    """Promote when every criterion holds.

    Against a champion the challenger need not be better, only not worse by more than `max_regression`: it was trained
    on fresher labels. A first model has only the baselines to beat.
    """
    criteria = [
        _enough_groups(measured, rules),
        _beats("beats-majority-class", "the majority class", measured.majority),
        _beats("beats-pixel-linear", "the linear model on pixels", measured.pixel_linear),
        _class_floor(measured, rules),
    ]
    if measured.champion is not None:
        criteria.append(_not_worse(measured.champion, rules))
        criteria.append(_class_drop(measured, rules))
    failed = [criterion.sentence for criterion in criteria if not criterion.passed]
    return Verdict(
        decision="refused" if failed else "promoted",
        reason="; ".join(failed) if failed else _promotion_reason(measured, rules),
        criteria=tuple(criteria),
        notes=_notes(measured),
    )


def _enough_groups(measured: Comparison, rules: GateConfig) -> Criterion:
    passed = measured.groups >= rules.min_groups
    return Criterion(
        "enough-groups",
        passed,
        f"the {measured.split} split has {measured.groups:,} independent groups, "
        f"{'at least' if passed else 'fewer than'} the {rules.min_groups:,} needed to tell anything",
    )


def _beats(name: str, opponent: str, other: Opponent) -> Criterion:
    passed = other.lead.lower > 0
    verb = "beats" if passed else "does not surely beat"
    return Criterion(
        name, passed, f"it {verb} {opponent} ({percent(other.score.accuracy.value)}): {_difference(other.lead)}"
    )


def _not_worse(champion: Opponent, rules: GateConfig) -> Criterion:
    passed = champion.lead.lower >= -rules.max_regression
    verdict = "surely not" if passed else "it cannot be excluded that it is"
    return Criterion(
        "not-worse-than-champion",
        passed,
        f"{verdict} more than {100 * rules.max_regression:.1f} points worse than the champion: "
        f"{_difference(champion.lead)}",
    )


def _class_floor(measured: Comparison, rules: GateConfig) -> Criterion:
    """A class below the floor refuses, unless the champion is no better there: keeping it would help nobody."""
    judged = [entry for entry in measured.classes if entry.support >= rules.min_class_support]
    below = [entry for entry in judged if entry.recall.value < rules.min_class_recall and not _as_before(entry)]
    floor = percent(rules.min_class_recall)
    if not below:
        lowest = min(judged, key=lambda entry: entry.recall.value, default=None)
        found = f"; the lowest is {_class_recall(lowest)}" if lowest else ""
        sentence = f"every class of at least {rules.min_class_support} images reaches a recall of {floor}{found}"
        if any(entry.recall.value < rules.min_class_recall for entry in judged):
            sentence = f"no class falls below a recall of {floor} where the champion was better{found}"
        return Criterion("class-floor", True, sentence)
    named = "; ".join(f"{_class_recall(entry)}{_floor_noise(entry, rules)}" for entry in below)
    return Criterion("class-floor", False, f"recall below {floor}: {named}")


def _class_drop(measured: Comparison, rules: GateConfig) -> Criterion:
    """A drop counts when it exceeds the limit and the interval says that it is no accident of the split."""
    limit = f"{100 * rules.max_class_recall_drop:.1f}"
    judged = [
        (entry, entry.difference)
        for entry in measured.classes
        if entry.support >= rules.min_class_support and entry.difference is not None
    ]
    large = [(entry, change) for entry, change in judged if change.value < -rules.max_class_recall_drop]
    real = [(entry, change) for entry, change in large if change.upper < 0]
    if real:
        named = "; ".join(f"{entry.name} by {_drop(entry, change)}" for entry, change in real)
        return Criterion("class-drop", False, f"recall falls more than {limit} points, beyond noise: {named}")
    if large:
        named = "; ".join(f"{entry.name} by {_drop(entry, change)}" for entry, change in large)
        return Criterion("class-drop", True, f"recall falls more than {limit} points only within noise: {named}")
    return Criterion("class-drop", True, f"no class's recall falls more than {limit} points below the champion's")


def _as_before(entry: ClassScore) -> bool:
    return entry.champion_recall is not None and entry.champion_recall.value <= entry.recall.value


def _class_recall(entry: ClassScore) -> str:
    return f"{entry.name} with {percent(entry.recall.value)} of {entry.support} images"


def _floor_noise(entry: ClassScore, rules: GateConfig) -> str:
    return " (within noise)" if entry.recall.upper >= rules.min_class_recall else ""


def _drop(entry: ClassScore, change: Interval) -> str:
    bounds = f"{points(change.lower)} to {points(change.upper)}"
    return f"{-100 * change.value:.1f} points ({bounds}) on {entry.support} images"


def _difference(lead: Interval) -> str:
    return f"{points(lead.value)} points ({points(lead.lower)} to {points(lead.upper)})"


def _promotion_reason(measured: Comparison, rules: GateConfig) -> str:
    accuracy = measured.challenger.accuracy
    found = f"accuracy {percent(accuracy.value)} ({100 * accuracy.lower:.1f} to {percent(accuracy.upper)})"
    baselines = (
        f"above the linear model on pixels ({percent(measured.pixel_linear.score.accuracy.value)}) "
        f"and the majority class ({percent(measured.majority.score.accuracy.value)})"
    )
    if measured.champion is None:
        return f"{found}, {baselines}; there was no champion"
    return (
        f"{found}, {_difference(measured.champion.lead)} against the champion, where at most "
        f"{100 * rules.max_regression:.1f} points worse would do; no class fell too far; {baselines}"
    )


def _notes(measured: Comparison) -> tuple[str, ...]:
    notes = []
    if measured.new_classes:
        notes.append(f"the champion does not know {', '.join(measured.new_classes)}: it can only be wrong there")
    if measured.vanished_classes:
        notes.append(f"the challenger no longer knows {', '.join(measured.vanished_classes)}")
    unknown = [f"{entry.name} ({entry.support} images)" for entry in measured.classes if not entry.known]
    if unknown:
        notes.append(f"the challenger cannot answer {', '.join(unknown)}")
    return tuple(notes)
