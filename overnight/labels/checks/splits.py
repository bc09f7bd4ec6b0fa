"""Checks of the splits and of the images in them."""

from overnight.config import SplitConfig, ValidationConfig
from overnight.labels.checks.classes import misspelled, unknown
from overnight.labels.checks.result import SHOWN, CheckResult, Verdict, nothing_before, part, percent
from overnight.labels.facts import ClassFacts, SnapshotFacts
from overnight.labels.split import SPLITS
from overnight.labels.statistics import above_share_p_value
from overnight.wording import counted

_ENOUGH = 2
"""A class that should have this many times the minimum in a split, and has not even the minimum, is badly split."""


def split_sizes(facts: SnapshotFacts, limits: ValidationConfig, split: SplitConfig) -> CheckResult:
    """Every class can be learned and measured: enough rows in each split.

    Too few training rows fail. Too few validation or test rows fail where the class is large enough to have had them
    (large groups stand on one side), and are a warning in a small class.
    """
    shares = (split.train, split.validation, split.test)
    left_out = {*misspelled(facts), *(() if limits.allow_new_classes else unknown(facts))}
    classes = [item for item in facts.classes if item.rows and item.name not in left_out]
    everything = ClassFacts(name="all classes together", splits=facts.split_rows)
    least = limits.min_split_rows_per_class
    poor: list[str] = []
    small: list[str] = []
    for item in (everything, *classes):
        for code, share in enumerate(shares):
            if share == 0 or item.splits[code] >= least:
                continue
            text = f"{item.name}: {item.splits[code]:,} of {item.rows:,} rows in {SPLITS[code]}"
            (poor if code == 0 or item.rows * share >= _ENOUGH * least else small).append(text)
    fewest = min((item.splits[code] for item in classes for code in range(3) if shares[code]), default=0)
    return CheckResult(
        name="split_sizes",
        verdict="fail" if poor else "warn" if small else "pass",
        message=_split_message(len(poor), len(small), least, facts),
        value=fewest,
        threshold=least,
        examples=tuple(poor or small)[:SHOWN],
    )


def split_moved(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """No key moved between splits since the previous snapshot: its group and the salt are what they were."""
    if facts.classes_before is None:
        return nothing_before("split_moved", limits.max_moved_splits)
    count, total, limit = facts.moved.count, facts.surviving, limits.max_moved_splits
    share = count / max(total, 1)
    fails = share > limit
    verdict: Verdict = "fail" if fails else "warn" if count else "pass"
    message = f"{part(count, total, 'keys')} moved to another split since the last snapshot"
    message += (
        f"; at most {percent(limit)} may: a champion trained on what is now test data would look too good."
        " Restore their group_id and the split's salt and shares, or raise max_moved_splits once."
        if fails
        else "."
    )
    return CheckResult(
        name="split_moved",
        verdict=verdict,
        message=message,
        value=share,
        threshold=limit,
        examples=facts.moved.examples,
    )


def changed_images(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Few keys have other image bytes than in the previous snapshot."""
    if facts.classes_before is None:
        return nothing_before("changed_images", limits.max_changed_images)
    count, total, limit = facts.changed_images.count, facts.surviving, limits.max_changed_images
    fails = above_share_p_value(count, total, limit) < limits.significance
    message = f"{part(count, total, 'keys')} have another image than in the last snapshot"
    message += (
        f"; at most {percent(limit)} may. Were files overwritten or renamed? A new image needs a new key."
        if fails
        else "."
    )
    return CheckResult(
        name="changed_images",
        verdict="fail" if fails else "warn" if count else "pass",
        message=message,
        value=count / max(total, 1),
        threshold=limit,
        examples=facts.changed_images.examples,
    )


def near_duplicates(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Few validation and test images look like a training image of another group."""
    count, limit = facts.near_duplicates.count, limits.max_near_duplicates
    _, validation, test = facts.split_rows
    fails = above_share_p_value(count, validation + test, limit) < limits.significance
    message = f"{part(count, validation + test, 'validation and test images')} look like a training image"
    message += (
        f"; at most {percent(limit)} may: accuracy would be overstated. Give images of one thing the same group_id."
        if fails
        else "."
    )
    return CheckResult(
        name="near_duplicates",
        verdict="fail" if fails else "warn" if count else "pass",
        message=message,
        value=count / max(validation + test, 1),
        threshold=limit,
        examples=facts.near_duplicates.examples,
    )


def _split_message(poor: int, small: int, least: int, facts: SnapshotFacts) -> str:
    sizes = ", ".join(f"{name} {rows:,}" for name, rows in zip(SPLITS, facts.split_rows, strict=True))
    places = counted(poor or small, "place", "places")
    if poor:
        return (
            f"In {places} a class has fewer than {least:,} rows of a split ({sizes})."
            " Label more, merge the class, or divide groups that are too large."
        )
    if small:
        return f"In {places} a small class has fewer than {least:,} rows of a split ({sizes}): measure it with care."
    return f"Every class has at least {least:,} rows in each split ({sizes})."
