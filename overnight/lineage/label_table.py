"""Whether the dated label table still says what the snapshot holds."""

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from overnight.lineage.tree import missing


def table_problems(
    database: Path, table: str, rows: int, label_files: Sequence[Path], classes: Sequence[str]
) -> tuple[str, ...]:
    """Why `table` is not the one that a snapshot was made from: empty when it is.

    Checks that it has `rows` rows, and that each row of the snapshot's `label_files` stands in it with the same
    label and group; `classes` names the class ids. Without label files only the count is checked.
    """
    if not database.is_file():
        return (missing(database),)
    try:
        with duckdb.connect(str(database), read_only=True) as connection:
            return _problems(connection, f"{database}, table {table}", table, rows, label_files, classes)
    except duckdb.Error as error:
        reason = " ".join(str(error).split())
        if "Could not set lock" in reason:
            reason = "it is open in another program; close it there and try again"
        return (f"{database} cannot be read: {reason}.",)


def _problems(
    connection: duckdb.DuckDBPyConnection,
    where: str,
    table: str,
    rows: int,
    label_files: Sequence[Path],
    classes: Sequence[str],
) -> tuple[str, ...]:
    if not connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [table]).fetchall():
        return (f"{where} is missing.",)
    found = _number(connection, f'SELECT count(*) FROM "{table}"')
    problems: tuple[str, ...] = (
        () if found == rows else (f"{where} was altered: recorded {rows:,} rows, found {found:,} rows.",)
    )
    if not label_files:
        return problems
    names = pa.table({"class_id": pa.array(range(len(classes)), pa.int32()), "label": pa.array(classes, pa.string())})
    connection.register("class_names", names)
    # Pattern characters in brackets stand for themselves.
    files = [re.sub(r"[*?\[]", r"[\g<0>]", str(path)) for path in label_files]
    # A key without a group is its own group (docs/formats.md, "Label table").
    differing = _number(
        connection,
        f"""SELECT count(*) FROM (
            SELECT key, label, group_id FROM read_parquet(?) LEFT JOIN class_names USING (class_id)
            EXCEPT
            SELECT key, label, CASE WHEN group_id IS NULL OR trim(group_id) = '' THEN key ELSE group_id END
            FROM "{table}"
        )""",
        files,
    )
    if differing:
        plural = "rows of the snapshot are" if differing > 1 else "row of the snapshot is"
        problems += (f"{where} was altered: {differing:,} {plural} not in it as recorded.",)
    return problems


def _number(connection: duckdb.DuckDBPyConnection, query: str, *parameters: object) -> int:
    # fetchall, not fetchone: an unfinished result keeps DuckDB 2 from registering the next relation.
    ((number,),) = connection.execute(query, list(parameters)).fetchall()
    return int(number)
