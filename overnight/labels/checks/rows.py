"""Checks of the label table's rows: how many, and whether each names one image and one label."""

from overnight.config import ValidationConfig
from overnight.labels.checks.result import CheckResult, percent, share_check
from overnight.labels.facts import Found, SnapshotFacts


def row_count(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """The table's rows lie between the absolute limits and near the previous snapshot's."""
    rows, before = facts.rows, facts.rows_before
    low, high = limits.min_rows, limits.max_rows
    if before is not None:
        low = max(low, round(before * (1 - limits.max_row_drop)))
        high = min(high, round(before * (1 + limits.max_row_growth)))
    compared = "" if before is None else f"; it had {before:,} at the last snapshot ({_signed(rows, before)})"
    if low <= rows <= high:
        return CheckResult(
            name="row_count",
            verdict="pass",
            message=f"The label table has {rows:,} rows{compared}.",
            value=rows,
            threshold=low,
        )
    border, bound = (low, "at least") if rows < low else (high, "at most")
    return CheckResult(
        name="row_count",
        verdict="fail",
        message=f"The label table has {rows:,} rows where {bound} {border:,} were expected{compared}."
        " Export it again, or change min_rows, max_rows, max_row_drop or max_row_growth.",
        value=rows,
        threshold=border,
    )


def nulls(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Every row has a key and a label that can be seen."""
    keys, labels = facts.null_keys, facts.null_labels
    found = Found(count=keys.count + labels.count, examples=(*keys.examples, *labels.examples))
    return share_check(
        "nulls",
        found,
        (facts.rows, "rows"),
        limits.max_nulls,
        f"have no key or no label ({keys.count:,} keys, {labels.count:,} labels are null or blank)"
        if found.count
        else "have no key or no label",
        "Fill them in or delete the rows.",
    )


def bad_keys(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Every key keeps the rule for keys."""
    return share_check(
        "bad_keys",
        facts.bad_keys,
        (facts.rows, "rows"),
        limits.max_bad_keys,
        "have a key that no image can have",
        "Keys are ASCII letters, digits, _, - and / only, at most 90 bytes, without the file's suffix; correct them.",
    )


def duplicate_keys(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """No key stands in two rows with the same label."""
    return share_check(
        "duplicate_keys",
        facts.duplicate_keys,
        (facts.images, "images"),
        limits.max_duplicate_keys,
        "are named in several rows with the same label",
        "Delete the rows that are too many.",
    )


def conflicting_keys(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """No key stands in two rows with different labels."""
    return share_check(
        "conflicting_keys",
        facts.conflicting_keys,
        (facts.images, "images"),
        limits.max_conflicting_keys,
        "are named in several rows with different labels",
        "Decide which label is right and delete the other rows.",
    )


def labels_without_image(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Every labelled key has an image in the shard set (or is known to be quarantined)."""
    return share_check(
        "labels_without_image",
        facts.labels_without_image,
        (facts.rows, "rows"),
        limits.max_labels_without_image,
        "name an image that the shard set does not hold",
        "Run `overnight shards build` if images were added since; otherwise delete the rows.",
    )


def quarantined(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Few labels belong to images that were put aside when the shards were built."""
    return share_check(
        "quarantined",
        facts.quarantined,
        (facts.rows, "rows"),
        limits.max_quarantined,
        "name an image that was put aside as unusable",
        "quarantine.parquet in the shard set gives each reason; repair the images and build the shards again.",
    )


def images_without_label(facts: SnapshotFacts, limits: ValidationConfig) -> CheckResult:
    """Nearly every image of the shard set is named in the label table."""
    return share_check(
        "images_without_label",
        facts.images_without_label,
        (facts.images, "images"),
        limits.max_images_without_label,
        "have no row in the label table",
        "Export the whole label table again, or label the images.",
    )


def _signed(now: int, before: int) -> str:
    change = (now - before) / max(before, 1)
    return ("+" if change >= 0 else "−") + percent(abs(change))
