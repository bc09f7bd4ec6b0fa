"""`overnight import`: catalogue images and enter their labels, both or neither."""

import contextlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from overnight.catalog import catalogue, digests, keys
from overnight.catalog.errors import ImportProblem
from overnight.catalog.found import Finding, Found
from overnight.files import locked
from overnight.labels.duckdb_source import DuckDBLabelSource
from overnight.labels.errors import LabelsError
from overnight.labels.source import LABEL_SCHEMA, MergeCounts

MergeLabels = Callable[[pa.Table], MergeCounts]
"""Enters label rows: LabelSource.create_or_merge, or create_or_overwrite."""


@dataclass(frozen=True)
class Imported:
    """What an import did, in images (`removed`: pruned from the catalogue) and in label rows."""

    classes: dict[str, int]
    added: int
    changed: int
    unchanged: int
    removed: int
    catalogued: int
    labels: MergeCounts
    left_out: tuple[str, ...]


def merge_images(
    finding: Finding, path: Path, source: DuckDBLabelSource, merge_labels: MergeLabels, advance: Callable[[], None]
) -> Imported:
    """Bring the found images into the catalogue at `path` and their labels into the table; other images stay.

    Raises ImportProblem, LabelsError, FolderInUse, OSError; the catalogue and the labels are then as they were.
    """
    return _merge(finding, path, source, merge_labels, advance, prune=_keep_all)


def replace_images(
    finding: Finding, path: Path, source: DuckDBLabelSource, merge_labels: MergeLabels, advance: Callable[[], None]
) -> Imported:
    """As `merge_images`, and images that were not found leave the catalogue; their labels stay."""
    return _merge(finding, path, source, merge_labels, advance, prune=_keep_found)


Prune = Callable[[dict[str, catalogue.Image], dict[str, catalogue.Image]], dict[str, catalogue.Image]]


def _keep_all(known: dict[str, catalogue.Image], found: dict[str, catalogue.Image]) -> dict[str, catalogue.Image]:
    return known | found


def _keep_found(known: dict[str, catalogue.Image], found: dict[str, catalogue.Image]) -> dict[str, catalogue.Image]:
    return found


def _merge(
    finding: Finding,
    path: Path,
    source: DuckDBLabelSource,
    merge_labels: MergeLabels,
    advance: Callable[[], None],
    prune: Prune,
) -> Imported:
    with locked(path.parent, "import"):
        _check_classes(finding, source)
        known = catalogue.read(path)
        key_of = keys.assign(
            [image.source for image in finding.images], {image.source: image.key for image in known.values()}
        )
        pairs = [(key_of[image.source], image) for image in finding.images]
        found = {image.key: image for image in digests.catalogued(pairs, known, advance)}
        merged = prune(known, found)
        # The catalogue is on disk before the labels change, and takes its place after: a full disk changes neither.
        with catalogue.replacing(path, merged.values()):
            labels = merge_labels(_label_rows(pairs))
    before = {key: known[key].sha256 if key in known else None for key in found}
    added = sum(digest is None for digest in before.values())
    unchanged = sum(digest == found[key].sha256 for key, digest in before.items())
    return Imported(
        classes=dict(sorted(Counter(image.label for image in finding.images).items())),
        added=added,
        changed=len(found) - added - unchanged,
        unchanged=unchanged,
        removed=len(known.keys() - merged.keys()),
        catalogued=len(merged),
        labels=labels,
        left_out=finding.left_out,
    )


def _label_rows(pairs: list[tuple[str, Found]]) -> pa.Table:
    ordered = sorted(pairs, key=lambda pair: pair[0])
    columns = [
        [key for key, _ in ordered],
        [image.label for _, image in ordered],
        [image.group for _, image in ordered],
    ]
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns], schema=LABEL_SCHEMA)


def _check_classes(finding: Finding, source: DuckDBLabelSource) -> None:
    """Refuse a first import of one class; a later import may bring images of one class only."""
    classes = {image.label for image in finding.images}
    if len(classes) > 1 or _labels_in(source) - classes:
        return
    raise ImportProblem(
        f"there is only one class, {next(iter(classes))!r}",
        where=finding.path,
        remedy="import images of at least two classes; a class is the first folder of the path",
    )


def _labels_in(source: DuckDBLabelSource) -> set[str]:
    if not source.database.exists():
        return set()
    with contextlib.suppress(LabelsError), duckdb.connect() as connection:
        source.attach(connection)
        return {str(label) for (label,) in connection.execute("SELECT DISTINCT label FROM labels").fetchall()}
    return set()  # no table yet
