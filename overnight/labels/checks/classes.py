"""Checks of the classes: which there are, how they are spelled, how many rows each has, and what changed."""

import unicodedata
from collections import defaultdict
from collections.abc import Mapping

from overnight.config import ValidationConfig
from overnight.labels.checks.result import SHOWN, CheckResult, Verdict, nothing_before, part, percent
from overnight.labels.facts import ClassFacts, SnapshotFacts
from overnight.labels.statistics import above_share_p_value, jensen_shannon, net_change_p_value
from overnight.wording import counted


def misspelled(facts: SnapshotFacts) -> Mapping[str, str]:
    """Labels that differ from a known class only in white space, case or Unicode form, and that class.

    Known are the previous snapshot's classes; among labels new to all, the one with the most rows.
    """
    known = facts.classes_before or frozenset()
    alike: dict[str, list[tuple[bool, int, str]]] = defaultdict(list)
    for label, rows in facts.label_rows:
        alike[_folded(label)].append((label in known, rows, label))
    for label in known:
        alike[_folded(label)].append((True, 0, label))
    found = {}
    for spellings in alike.values():
        is_known, _, right = max(spellings)
        found.update(
            {label: right for known_too, _, label in spellings if label != right and not (known_too and is_known)}
        )
    return found


def label_spelling(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """No label is another way to write a known class."""
    wrong = misspelled(facts)
    rows = dict(facts.label_rows)
    message = "Each class is spelled in one way."
    if wrong:
        labels = counted(len(wrong), "label differs", "labels differ")
        message = f"{labels} from a known class only in white space, capitals or Unicode form. Correct the spelling."
    return CheckResult(
        name="label_spelling",
        verdict="fail" if wrong else "pass",
        message=message,
        value=len(wrong),
        threshold=0,
        examples=tuple(
            f"{label!r} for {right!r} ({counted(rows.get(label, 0), 'row', 'rows')})"
            for label, right in sorted(wrong.items())[:SHOWN]
        ),
    )


def number_of_classes(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """There are at least two classes, and not one for every image."""
    total = facts.class_total
    low, high = limits.min_classes, limits.max_classes
    inside = low <= total <= high
    message = f"The labels name {counted(total, 'class', 'classes')}"
    message += "." if inside else f" where {low:,} to {high:,} were expected. Is `label` filled from the right column?"
    return CheckResult(
        name="number_of_classes",
        verdict="pass" if inside else "fail",
        message=message,
        value=total,
        threshold=low if total <= high else high,
    )


def unknown_classes(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """No class is new since the previous snapshot, unless allowed."""
    if facts.classes_before is None:
        return nothing_before("unknown_classes", 0)
    new = unknown(facts)
    allowed = "allow_new_classes is set" if limits.allow_new_classes else ""
    return _listed(
        "unknown_classes",
        new,
        "not in the last snapshot",
        allowed,
        "Correct the labels, or set allow_new_classes if they are meant.",
    )


def vanished_classes(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """No class of the previous snapshot is without rows now, unless allowed."""
    if facts.classes_before is None:
        return nothing_before("vanished_classes", 0)
    gone = tuple(item.name for item in facts.classes if item.before and not item.rows)
    allowed = "allow_vanished_classes is set" if limits.allow_vanished_classes else ""
    return _listed(
        "vanished_classes",
        gone,
        "of the last snapshot without rows now",
        allowed,
        "Export the whole label table again, or set allow_vanished_classes if they were removed on purpose.",
    )


def class_balance_drift(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """The classes' shares are close to the previous snapshot's, by Jensen-Shannon divergence."""
    if facts.classes_before is None:
        return nothing_before("class_balance_drift", limits.max_js_divergence)
    value = jensen_shannon([item.before for item in facts.classes], [item.rows for item in facts.classes])
    limit = limits.max_js_divergence
    fails = value > limit
    message = f"The class shares moved by {value:.4f} (Jensen-Shannon, 0 to 1) since the last snapshot"
    message += f"; at most {limit:g} may be. See which classes grew or shrank." if fails else "."
    return CheckResult(
        name="class_balance_drift",
        verdict="fail" if fails else "pass",
        message=message,
        value=value,
        threshold=limit,
        examples=_largest_moves(facts) if fails else (),
    )


def class_counts(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """No class lost a large share of its images, and none grew suddenly. Relabelling is label_churn's matter."""
    if facts.classes_before is None:
        return nothing_before("class_counts", limits.max_class_loss)
    lost = [item for item in facts.classes if item.rows and _is_large_loss(item, limits)]
    grown = [item for item in facts.classes if item.before and _is_large_growth(item, limits)]
    verdict: Verdict = "fail" if lost else "warn" if grown else "pass"
    classes = counted(len(lost or grown), "class", "classes")
    message = "No class lost or gained an unusual share of its images."
    if lost:
        message = (
            f"{classes} lost more than {percent(limits.max_class_loss)} of the images since the last snapshot,"
            f" beyond chance (p < {limits.significance:g})."
            " Export the whole label table again, or raise max_class_loss."
        )
    elif grown:
        message = f"{classes} grew by more than {percent(limits.max_class_growth)}. Is that meant?"
    return CheckResult(
        name="class_counts",
        verdict=verdict,
        message=message,
        value=max((_loss(item) for item in facts.classes if item.rows and item.before), default=0.0),
        threshold=limits.max_class_loss,
        examples=tuple(
            f"{item.name}: {item.before:,} rows, {item.lost:,} lost, {item.gained:,} gained"
            for item in (lost or grown)[:SHOWN]
        ),
    )


def label_churn(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Of the keys in both snapshots few have another label, over all and in each class."""
    if facts.classes_before is None:
        return nothing_before("label_churn", limits.max_label_churn)
    changed, total = facts.relabelled, facts.surviving
    share = changed / max(total, 1)
    overall = above_share_p_value(changed, total, limits.max_label_churn) < limits.significance
    classes = [
        item
        for item in facts.classes
        if above_share_p_value(item.relabelled, item.before - item.lost, limits.max_class_churn) < limits.significance
    ]
    message = f"{part(changed, total, 'keys')} have another label than in the last snapshot"
    if overall:
        message += f"; at most {percent(limits.max_label_churn)} may. See `overnight snapshot diff` and the examples."
    elif classes:
        names = ", ".join(
            f"{item.name} ({item.relabelled:,} of {item.before - item.lost:,})" for item in classes[:SHOWN]
        )
        message += f"; in a class at most {percent(limits.max_class_churn)} may, but see {names}."
    else:
        message += "."
    return CheckResult(
        name="label_churn",
        verdict="fail" if overall or classes else "pass",
        message=message,
        value=share,
        threshold=limits.max_label_churn,
        examples=tuple(f"{change.key} ({change.old} → {change.new})" for change in facts.label_changes[:SHOWN]),
    )


def unknown(facts: SnapshotFacts) -> tuple[str, ...]:
    """Labels that are no class of the previous snapshot, nor another way to write one; none for the first."""
    if facts.classes_before is None:
        return ()
    wrong = misspelled(facts)
    return tuple(sorted(name for name, _ in facts.label_rows if name not in facts.classes_before and name not in wrong))


def _listed(name: str, classes: tuple[str, ...], what: str, allowed: str, remedy: str) -> CheckResult:
    verdict: Verdict = "pass" if not classes else "warn" if allowed else "fail"
    message = f"{counted(len(classes), 'class', 'classes')} {what}."
    if classes:
        message = f"{message} {f'{allowed}.' if allowed else remedy}"
    return CheckResult(
        name=name, verdict=verdict, message=message, value=len(classes), threshold=0, examples=classes[:SHOWN]
    )


def _folded(label: str) -> str:
    """What a label is when white space, case and Unicode form do not count."""
    return "".join(unicodedata.normalize("NFKC", label).casefold().split())


def _loss(item: ClassFacts) -> float:
    """Share of the class's former images that are gone, less those that came."""
    return (item.lost - item.gained) / item.before


def _is_large_loss(item: ClassFacts, limits: ValidationConfig) -> bool:
    return (
        item.before > 0
        and _loss(item) > limits.max_class_loss
        and net_change_p_value(item.lost, item.gained) < limits.significance
    )


def _is_large_growth(item: ClassFacts, limits: ValidationConfig) -> bool:
    return -_loss(item) > limits.max_class_growth and net_change_p_value(item.lost, item.gained) < limits.significance


def _largest_moves(facts: SnapshotFacts) -> tuple[str, ...]:
    """The classes whose share changed most."""
    before, now = sum(item.before for item in facts.classes), facts.snapshot_rows
    moves = sorted(
        ((item.rows / max(now, 1) - item.before / max(before, 1), item.name) for item in facts.classes),
        key=lambda move: (-abs(move[0]), move[1]),
    )
    return tuple(f"{name}: {change * 100:+.1f} points" for change, name in moves[:SHOWN])
