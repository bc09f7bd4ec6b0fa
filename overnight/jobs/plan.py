"""From a checked spec to every request that a run may send: the job itself, then its fallbacks."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from overnight.files import canonical_json, sha256_bytes
from overnight.jobs.block import OvernightBlock
from overnight.jobs.check import check
from overnight.jobs.context import Context
from overnight.jobs.document import Document
from overnight.jobs.errors import SpecError
from overnight.jobs.place import Place
from overnight.jobs.reading import read
from overnight.jobs.request import (
    ATTEMPT_LABEL,
    LABEL_DIGITS,
    RUN_LABEL,
    SPEC_LABEL,
    TOKEN_LABEL,
    Request,
    normal,
    token,
)
from overnight.jobs.rules.fallbacks import fallen_back
from overnight.jobs.rules.image_variable import image_variable
from overnight.jobs.view import TASKS, JobView, PoolView
from overnight.lineage.record import RUN_ID

SnapshotFinder = Callable[[str], str]
"""From `latest` or a snapshot's name to the name; raises LabelsError when there is none."""
_SNAPSHOT = re.compile(r"[0-9]{8}-[0-9a-f]{12}(-[0-9]+)?")


@dataclass(frozen=True)
class Plan:
    """Everything that a run may send, before anything is sent."""

    run_id: str
    digest: str
    """SHA-256 of all requests, before the run's name is in them: the spec, its snapshot and its environment."""
    model: str
    snapshot: str
    spec: Path
    deadline_seconds: int | None
    requests: tuple[Request, ...]
    """The job as the spec has it, then with each fallback in turn."""
    notes: tuple[str, ...]
    """What was filled in that the spec does not say; one sentence each."""


def make_plan(
    document: Document,
    place: Place,
    context: Context,
    find_snapshot: SnapshotFinder,
    now: datetime,
    run_id: str | None = None,
) -> Plan:
    """Complete a spec for one run.

    The run id is made of `now` and the digest unless it is given. Raises SpecError when `overnight job check` finds an
    error in the spec or in what the environment adds,
    and for a spec that is for this machine only.
    """
    refuse_errors(document, context)
    job, block = _for_the_cloud(document, context)
    snapshot = find_snapshot(block.snapshot)
    inputs = _inputs(block, place, snapshot)
    views = [job, *(fallen_back(job, item) for item in block.fallbacks)]
    for view in views:
        refuse_errors(_filled_in(document, view, place), context)
    views = [complete(view, place, inputs) for view in views]
    unnamed = [Request(_parent(place, view), view.kind, normal(view.kind, view.data)) for view in views]
    digest = sha256_bytes(canonical_json([request.body for request in unnamed]))
    run_id = f"{now:%Y%m%d-%H%M%S}-{digest[:8]}" if run_id is None else checked_run_id(run_id)
    named = [_named(view, place, run_id, digest, index) for index, view in enumerate(views)]
    notes = _notes(job, place, snapshot, named[0])
    return Plan(run_id, digest, block.model, snapshot, document.path, block.deadline_seconds, tuple(named), notes)


def refuse_errors(document: Document, context: Context) -> None:
    """Raise SpecError for the first error that `overnight job check` finds."""
    report = check(document, context)
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if errors:
        first = errors[0]
        more = f"; `overnight job check` names {len(errors) - 1} more" if len(errors) > 1 else ""
        raise SpecError(first.message, where=document.where(first.path), remedy=f"{first.remedy}{more}")


def checked_run_id(run_id: str) -> str:
    """The id; raises SpecError when it is none."""
    if not RUN_ID.fullmatch(run_id):
        raise SpecError(
            f"{run_id!r} is no run id",
            where="--run-id",
            remedy="write it like 20260303-020000-0123abcd, or leave it out",
        )
    return run_id


def checked_snapshot(name: str) -> str:
    """The name of a snapshot; raises SpecError when it is none."""
    if not _SNAPSHOT.fullmatch(name):
        raise SpecError(
            f"{name!r} is no snapshot's name", where="--snapshot", remedy="write it like 20260303-0123456789ab"
        )
    return name


def complete(job: JobView, place: Place, inputs: dict[str, str]) -> JobView:
    """The job with what the environment gives where the spec says nothing, and what it reads."""
    spec = dict(job.spec)
    spec.setdefault("serviceAccount", place.account)
    if _takes_tensorboard(job, place):
        spec["tensorboard"] = place.tensorboard
    labels = {**place.labels, **job.data.get("labels", {})}
    return replace(job, data={**job.data, "labels": labels, job.spec_field: _with_variables(job, spec, inputs)})


def _filled_in(document: Document, view: JobView, place: Place) -> Document:
    """One way to run the job as a spec of its own, with what the environment gives: that must be right too."""
    block = {name: value for name, value in document.data["overnight"].items() if name != "fallbacks"}
    data = {view.kind: complete(view, place, {}).data, "overnight": {**block, "region": view.region}}
    return Document(document.path, data, document.lines)


def _inputs(block: OvernightBlock, place: Place, snapshot: str) -> dict[str, str]:
    """What every task reads. Buckets are mounted under /gcs/ (training/cloud-storage-file-system)."""
    inputs = {
        "OVERNIGHT_SHARDS": f"/gcs/{place.shards}/shards",
        "OVERNIGHT_SNAPSHOT": f"/gcs/{place.shards}/snapshots/{snapshot}",
    }
    return inputs if block.subsample is None else {**inputs, "OVERNIGHT_SUBSAMPLE": f"{block.subsample:g}"}


def _takes_tensorboard(job: JobView, place: Place) -> bool:
    """An instance serves the jobs of its region."""
    if place.tensorboard is None or job.spec.get("tensorboard") or job.spec.get("experiment"):
        return False
    return f"/locations/{job.region}/" in place.tensorboard


def _with_variables(job: JobView, spec: dict[str, Any], variables: dict[str, str]) -> dict[str, Any]:
    if not variables:
        return spec
    return {**spec, "workerPoolSpecs": [_pool_with(pool, variables) for pool in job.all_pools]}


def _pool_with(pool: PoolView, variables: dict[str, str]) -> dict[str, Any]:
    """The pool whose task has its image and `variables` after its own env.

    Google's reducers take none (vertex-facts 1.3).
    """
    name = pool.task_name
    if name is None or name not in TASKS or pool.is_reduction_server:
        return pool.data
    own = [item for item in pool.task.get("env", []) if item.get("name") not in variables]
    added = [{"name": key, "value": value} for key, value in sorted({**image_variable(pool), **variables}.items())]
    return {**pool.data, name: {**pool.task, "env": [*own, *added]}}


def _named(view: JobView, place: Place, run_id: str, digest: str, fallback: int) -> Request:
    """The request with the run's name: labels, variable, and an output folder of its own."""
    digits = digest[:LABEL_DIGITS]
    labels = {
        **view.data["labels"],
        RUN_LABEL: run_id,
        SPEC_LABEL: digits,
        ATTEMPT_LABEL: f"{fallback}-0",
        TOKEN_LABEL: token(digits, run_id, fallback, 0),
    }
    spec = _with_variables(view, view.spec, {"OVERNIGHT_RUN_ID": run_id})
    base = (view.output or f"gs://{place.staging}/runs").rstrip("/")
    spec["baseOutputDirectory"] = {"outputUriPrefix": f"{base}/{run_id}"}
    job = normal(view.kind, {**view.data, "labels": labels, view.spec_field: spec})
    return Request(_parent(place, view), view.kind, job, fallback)


def _parent(place: Place, view: JobView) -> str:
    return f"projects/{place.project}/locations/{view.region}"


def _for_the_cloud(document: Document, context: Context) -> tuple[JobView, OvernightBlock]:
    reading = read(document, context.region)
    if reading.job is None or reading.block is None:  # told by the check already
        raise SpecError("this is no job spec", where=str(document.path), remedy="see docs/jobs.md")
    if not reading.job.is_for_the_cloud:
        raise SpecError(
            "no pool names a machine, so this job is for this machine only",
            where=str(document.path),
            remedy=f"run it by `overnight run {document.path}`, or add machineSpec and imageUri",
        )
    if reading.job.region is None:
        raise SpecError(
            "nothing says in which region the job runs",
            where=document.where(("overnight",)),
            remedy="add region, or give an environment by --config",
        )
    return reading.job, reading.block


def _notes(job: JobView, place: Place, snapshot: str, request: Request) -> tuple[str, ...]:
    spec = request.job[job.spec_field]
    found = [f"Snapshot {snapshot}, run {request.run_id}."]
    if not job.service_account:
        found.append(f"The spec names no serviceAccount: it runs as the environment's, {place.account}.")
    if not job.spec.get("tensorboard"):
        given = spec.get("tensorboard")
        none = "and none of its region was given by --tensorboard (output `tensorboard` of the stack training)"
        found.append(
            f"The spec names no tensorboard: it has {given}." if given else f"The spec names no tensorboard, {none}."
        )
    output = spec["baseOutputDirectory"]["outputUriPrefix"]
    own = "under the spec's own prefix" if job.output else "in the environment's staging bucket"
    found.append(f"It writes to {output}, {own}.")
    return tuple(found)


def snapshot_named(name: str) -> SnapshotFinder:
    """A finder that takes `name` as it is, whatever the spec says: no folder is looked at."""
    checked_snapshot(name)
    return lambda _: name
