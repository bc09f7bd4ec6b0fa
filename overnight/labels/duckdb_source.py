"""The label table in a DuckDB file."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa

from overnight.labels.errors import LabelsError
from overnight.labels.source import LABEL_COLUMNS, LABEL_SCHEMA, MergeCounts

_ATTACHED = "label_database"


class DuckDBLabelSource:
    """`table` in the DuckDB file `database`; see LabelSource for each method's promise."""

    kind = "duckdb"

    def __init__(self, database: Path, table: str) -> None:
        self.database = database
        self.table = table
        self._name = f'"{table}"'  # quoted: a table may be called `order`

    @property
    def location(self) -> str:
        """The file and the table, for messages."""
        return f"{self.database}, table {self.table}"

    def create_or_merge(self, rows: pa.Table) -> MergeCounts:
        """Add new keys; existing keys keep their label and group."""
        with self._merging(rows) as connection:
            inserted = self._insert_new(connection)
        return MergeCounts(inserted=inserted, updated=0, kept=rows.num_rows - inserted)

    def create_or_overwrite(self, rows: pa.Table) -> MergeCounts:
        """Add new keys; existing keys take the label and group of `rows`."""
        with self._merging(rows) as connection:
            updated = _changed_rows(
                connection,
                f"""UPDATE {self._name} AS old SET label = new.label, group_id = new.group_id
                FROM incoming AS new WHERE old.key = new.key
                AND (old.label IS DISTINCT FROM new.label OR old.group_id IS DISTINCT FROM new.group_id)""",
            )
            inserted = self._insert_new(connection)
        return MergeCounts(inserted=inserted, updated=updated, kept=rows.num_rows - inserted - updated)

    def attach(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the relation `labels` for reading; other readers may use the file meanwhile."""
        self._attach(connection, "READ_ONLY")

    def attach_for_freezing(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the relation `labels` with the file held for this process alone."""
        self._attach(connection, "READ_WRITE")

    def freeze(self, connection: duckdb.DuckDBPyConnection, day: str) -> str:
        """Copy the attached table to a dated one, or find the dated table that holds the same rows."""
        for name in self._dated_names(day):
            target = f'{_ATTACHED}."{name}"'
            if not self._columns(connection, name):
                with self._plain_errors():
                    connection.execute(f"CREATE TABLE {target} AS FROM labels")
                    connection.execute(f"DETACH {_ATTACHED}")
                return name
            if _same_rows(connection, "labels", target):
                connection.execute(f"DETACH {_ATTACHED}")
                return name
        raise AssertionError("unreachable: the names do not end")

    def _dated_names(self, day: str) -> Iterator[str]:
        yield f"{self.table}_{day}"
        number = 2
        while True:
            yield f"{self.table}_{day}_{number}"
            number += 1

    @contextlib.contextmanager
    def _merging(self, rows: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
        """A transaction in which the table exists and `incoming` holds `rows`."""
        self.database.parent.mkdir(parents=True, exist_ok=True)
        with self._plain_errors(), duckdb.connect(str(self.database)) as connection:
            columns = ", ".join(f"{name} VARCHAR" for name in LABEL_COLUMNS)
            connection.execute("BEGIN")
            connection.execute(f"CREATE TABLE IF NOT EXISTS {self._name} ({columns})")
            connection.register("incoming", rows.select(LABEL_SCHEMA.names).cast(LABEL_SCHEMA))
            yield connection
            connection.execute("COMMIT")

    def _insert_new(self, connection: duckdb.DuckDBPyConnection) -> int:
        return _changed_rows(
            connection,
            f"""INSERT INTO {self._name} (key, label, group_id)
            SELECT key, label, group_id FROM incoming
            WHERE key NOT IN (SELECT key FROM {self._name} WHERE key IS NOT NULL) ORDER BY key""",
        )

    def _attach(self, connection: duckdb.DuckDBPyConnection, mode: str) -> None:
        if not self.database.exists():
            raise LabelsError(
                "there is no label database", where=str(self.database), remedy="run `overnight import FOLDER` first"
            )
        with self._plain_errors():
            path = str(self.database).replace("'", "''")
            connection.execute(f"ATTACH '{path}' AS {_ATTACHED} ({mode})")
        columns = self._columns(connection, self.table)
        if not columns:
            raise LabelsError(
                f"there is no table {self.table}",
                where=str(self.database),
                remedy="run `overnight import FOLDER`, or name the table in labels.table of the environment file",
            )
        missing = [name for name in LABEL_COLUMNS if name not in columns]
        if missing:
            raise LabelsError(
                f"column {missing[0]} is missing",
                where=self.location,
                remedy=f"a label table has the columns {', '.join(LABEL_COLUMNS)}",
            )
        casts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in LABEL_COLUMNS)
        connection.execute(f"CREATE TEMP VIEW labels AS SELECT {casts} FROM {_ATTACHED}.{self._name}")

    def _columns(self, connection: duckdb.DuckDBPyConnection, table: str) -> set[str]:
        found = connection.execute(
            "SELECT column_name FROM duckdb_columns() WHERE database_name = ? AND table_name = ?", [_ATTACHED, table]
        )
        return {str(name).lower() for (name,) in found.fetchall()}

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn what DuckDB says about the file into one sentence."""
        try:
            yield
        except duckdb.Error as error:
            text = " ".join(str(error).split())
            if "Could not set lock" in text:
                raise LabelsError(
                    "the label database is open in another program",
                    where=str(self.database),
                    remedy="close it there and try again",
                ) from None
            if "not a valid DuckDB database" in text:
                raise LabelsError("this is not a DuckDB database", where=str(self.database)) from None
            raise LabelsError(f"DuckDB says: {text}", where=str(self.database)) from None


def _changed_rows(connection: duckdb.DuckDBPyConnection, statement: str) -> int:
    row = connection.execute(statement).fetchone()
    return int(row[0]) if row else 0


def _same_rows(connection: duckdb.DuckDBPyConnection, left: str, right: str) -> bool:
    """Whether two relations hold the same rows, counted, in any order."""
    row = connection.execute(
        f"""SELECT (SELECT count(*) FROM {left}) = (SELECT count(*) FROM {right})
        AND NOT EXISTS (FROM {left} EXCEPT ALL SELECT key, label, group_id FROM {right})"""
    ).fetchone()
    return bool(row and row[0])
