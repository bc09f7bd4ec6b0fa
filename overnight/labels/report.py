"""The validation report: what was checked, what was found, what changed (docs/formats.md, report.json)."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from overnight.labels.checks import CheckResult
from overnight.labels.facts import SnapshotFacts
from overnight.labels.split import SPLITS

REPORT_FORMAT = "overnight.validation/1"


def time_text(time: datetime) -> str:
    """`2026-11-30T02:00:00Z` of a UTC time."""
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def failed_checks(checks: Sequence[CheckResult]) -> list[str]:
    """The names of the checks that failed."""
    return [check.name for check in checks if check.verdict == "fail"]


def counts(facts: SnapshotFacts) -> dict[str, Any]:
    """Rows of the snapshot, over all and by class and split."""
    classes = {item.name: dict(zip(SPLITS, item.splits, strict=True)) for item in facts.classes if item.rows}
    return {"rows": facts.snapshot_rows, "classes": classes}


def validation_report(
    *,
    facts: SnapshotFacts,
    checks: Sequence[CheckResult],
    created: datetime,
    source: dict[str, Any],
    shard_set: dict[str, str],
    previous: dict[str, str] | None,
) -> dict[str, Any]:
    """The content of report.json."""
    return {
        "format": REPORT_FORMAT,
        "verdict": "rejected" if failed_checks(checks) else "accepted",
        "created": time_text(created),
        "source": source,
        "shard_set": shard_set,
        "previous": previous,
        "counts": counts(facts),
        "checks": [{**asdict(check), "examples": list(check.examples)} for check in checks],
        "label_changes": [{"key": change.key, "from": change.old, "to": change.new} for change in facts.label_changes],
        "label_changes_total": facts.relabelled,
    }
