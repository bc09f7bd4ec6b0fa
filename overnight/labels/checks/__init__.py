"""The checks a label table must pass: pure functions of facts and thresholds, each explained in docs/validation.md."""

from overnight.config import SplitConfig, ValidationConfig
from overnight.labels.checks import classes, rows, splits
from overnight.labels.checks.result import CheckResult
from overnight.labels.facts import SnapshotFacts

__all__ = ["CheckResult", "run_checks"]


def run_checks(facts: SnapshotFacts, limits: ValidationConfig, split: SplitConfig) -> tuple[CheckResult, ...]:
    """Every check's result, in the order in which a person should read them."""
    return (
        rows.row_count(facts, limits),
        rows.nulls(facts, limits),
        rows.bad_keys(facts, limits),
        rows.duplicate_keys(facts, limits),
        rows.conflicting_keys(facts, limits),
        rows.labels_without_image(facts, limits),
        rows.quarantined(facts, limits),
        rows.images_without_label(facts, limits),
        classes.number_of_classes(facts, limits),
        classes.label_spelling(facts, limits),
        classes.unknown_classes(facts, limits),
        classes.vanished_classes(facts, limits),
        classes.class_balance_drift(facts, limits),
        classes.class_counts(facts, limits),
        classes.label_churn(facts, limits),
        splits.split_sizes(facts, limits, split),
        splits.split_moved(facts, limits),
        splits.changed_images(facts, limits),
        splits.near_duplicates(facts, limits),
    )
