"""Where labels live: what DuckDB and BigQuery do differently stands behind `LabelSource`.

Everything else (facts, checks, splits, export) works on a DuckDB connection in which the source has made the
relation `labels(key VARCHAR, label VARCHAR, group_id VARCHAR)`.
"""

from dataclasses import dataclass
from typing import Protocol

import duckdb
import pyarrow as pa

LABEL_COLUMNS = ("key", "label", "group_id")

LABEL_SCHEMA = pa.schema([(name, pa.string()) for name in LABEL_COLUMNS])
"""The Arrow schema of label rows handed to a source."""


@dataclass(frozen=True, kw_only=True)
class MergeCounts:
    """What a merge did to the label table, in rows: together they are the rows handed in."""

    inserted: int
    """Keys the table did not have."""
    updated: int
    """Keys whose label or group was changed."""
    kept: int
    """Keys that stayed as they were."""


class LabelSource(Protocol):
    """A label table that analysts edit."""

    @property
    def kind(self) -> str:
        """`duckdb` or `bigquery`, as in a snapshot's manifest."""

    @property
    def table(self) -> str:
        """The label table's name."""

    @property
    def location(self) -> str:
        """Where the table stands, for messages."""

    def create_or_merge(self, rows: pa.Table) -> MergeCounts:
        """Add the keys the table does not have yet (making the table first); existing keys keep their rows.

        `rows` has LABEL_SCHEMA and unique keys. All or nothing. Raises LabelsError.
        """

    def create_or_overwrite(self, rows: pa.Table) -> MergeCounts:
        """As `create_or_merge`, and existing keys take the label and group of `rows`."""

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the relation `labels` in `connection`: one version of the table, for reading.

        Raises LabelsError when there is no such table, a column is missing, or it is held by another program.
        """

    def attach_for_freezing(self, connection: duckdb.DuckDBPyConnection) -> None:
        """As `attach`, and nobody changes the table until `connection` is closed or `freeze` has run."""

    def freeze(self, connection: duckdb.DuckDBPyConnection, day: str) -> str:
        """Copy the attached labels to the dated table `<table>_<day>` (`day` as YYYYMMDD) and return its name.

        A dated table with equal content is used again; one with other content is left alone and `_2`, `_3`, …
        is put behind the name.
        """
