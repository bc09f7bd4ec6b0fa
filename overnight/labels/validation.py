"""Validate the label table against a shard set and the snapshot before: stage, gather, check."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from overnight.config import Environment
from overnight.labels.checks import CheckResult, run_checks
from overnight.labels.facts import SnapshotFacts
from overnight.labels.gather import gather_facts
from overnight.labels.report import failed_checks, validation_report
from overnight.labels.snapshots import Snapshot
from overnight.labels.source import LabelSource
from overnight.labels.split import split_rule
from overnight.labels.staging import (
    check_shard_set,
    stage_before_rows,
    stage_images,
    stage_previous,
    stage_rows,
    stage_transitions,
)
from overnight.shards.shardset import ShardSet

Progress = Callable[[str], None]
"""Told what is being done, in a few words."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a snapshot is made of."""

    source: LabelSource
    shard_set: ShardSet
    previous: Snapshot | None
    now: datetime


@dataclass(frozen=True, kw_only=True)
class Validation:
    """What the checks found."""

    facts: SnapshotFacts
    checks: tuple[CheckResult, ...]
    report: dict[str, Any]
    """The content of report.json."""

    @property
    def failed(self) -> list[str]:
        """Names of the checks that failed; empty means accepted."""
        return failed_checks(self.checks)


def validate(
    connection: duckdb.DuckDBPyConnection, inputs: Inputs, environment: Environment, progress: Progress
) -> Validation:
    """Check the relation `labels` that the source has made in `connection`. Raises LabelsError."""
    limits, previous = environment.validation, inputs.previous
    progress("Reading the shard index")
    check_shard_set(inputs.shard_set)
    stage_images(connection, inputs.shard_set)
    stage_previous(connection, previous)
    progress("Reading labels")
    stage_rows(connection, split_rule(environment.split))
    progress("Reading the snapshot before")
    stage_before_rows(connection)
    stage_transitions(connection)
    progress("Counting")
    facts = gather_facts(
        connection,
        rows_before=int(previous.manifest["source"]["rows"]) if previous else None,
        classes_before=frozenset(previous.classes) if previous else None,
        near_duplicate_distance=limits.near_duplicate_distance,
    )
    checks = run_checks(facts, limits, environment.split)
    report = validation_report(
        facts=facts,
        checks=checks,
        created=inputs.now,
        source=describe_source(inputs.source, environment, facts),
        shard_set={"name": inputs.shard_set.name, "sha256": inputs.shard_set.sha256},
        previous=describe_previous(previous),
    )
    return Validation(facts=facts, checks=checks, report=report)


def describe_source(source: LabelSource, environment: Environment, facts: SnapshotFacts) -> dict[str, Any]:
    """The label table as report.json and manifest.json name it; the database relative to `root`."""
    return {
        "kind": source.kind,
        "database": environment.labels.database,
        "table": source.table,
        "rows": facts.rows,
    }


def describe_previous(previous: Snapshot | None) -> dict[str, str] | None:
    """The previous snapshot as report.json and manifest.json name it."""
    return {"name": previous.name, "sha256": previous.sha256} if previous else None
