"""The label table in DuckDB: imports keep analysts' work, dated tables are never overwritten."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from overnight.labels.duckdb_source import DuckDBLabelSource
from overnight.labels.errors import LabelsError
from overnight.labels.source import LABEL_SCHEMA, MergeCounts


def rows(*values: tuple[str, str | None, str | None]) -> pa.Table:
    """Rows of (key, label, group)."""
    return pa.table([pa.array(list(column), pa.string()) for column in zip(*values, strict=True)], schema=LABEL_SCHEMA)


def content(source: DuckDBLabelSource, table: str = "labels") -> list[tuple[object, ...]]:
    with duckdb.connect(str(source.database)) as connection:
        return connection.execute(f"SELECT key, label, group_id FROM {table} ORDER BY ALL").fetchall()


@pytest.fixture
def source(tmp_path: Path) -> DuckDBLabelSource:
    """Two labels, one with a group."""
    made = DuckDBLabelSource(tmp_path / "labels.duckdb", "labels")
    made.create_or_merge(rows(("a", "cat", None), ("b", "dog", "g")))
    return made


def test_the_first_import_makes_the_table(source: DuckDBLabelSource) -> None:
    assert content(source) == [("a", "cat", None), ("b", "dog", "g")]


def test_an_import_keeps_what_analysts_corrected(source: DuckDBLabelSource) -> None:
    counts = source.create_or_merge(rows(("a", "cow", None), ("c", "dog", None)))
    assert counts == MergeCounts(inserted=1, updated=0, kept=1)
    assert content(source) == [("a", "cat", None), ("b", "dog", "g"), ("c", "dog", None)]


def test_an_overwriting_import_takes_the_new_labels(source: DuckDBLabelSource) -> None:
    counts = source.create_or_overwrite(rows(("a", "cow", None), ("b", "dog", "g"), ("c", "dog", None)))
    assert counts == MergeCounts(inserted=1, updated=1, kept=1)
    assert content(source) == [("a", "cow", None), ("b", "dog", "g"), ("c", "dog", None)]


def frozen(source: DuckDBLabelSource) -> str:
    with duckdb.connect() as connection:
        source.attach_for_freezing(connection)
        return source.freeze(connection, "20260302")


def test_a_dated_table_with_equal_content_is_used_again(source: DuckDBLabelSource) -> None:
    assert [frozen(source), frozen(source)] == ["labels_20260302", "labels_20260302"]


def test_a_dated_table_with_other_content_is_left_alone(source: DuckDBLabelSource) -> None:
    names = [frozen(source)]
    for label in ("cow", "bee"):
        source.create_or_overwrite(rows(("a", label, None)))
        names.append(frozen(source))
    assert names == ["labels_20260302", "labels_20260302_2", "labels_20260302_3"]
    assert content(source, "labels_20260302") == [("a", "cat", None), ("b", "dog", "g")]


def test_a_row_more_often_is_other_content(source: DuckDBLabelSource) -> None:
    frozen(source)
    with duckdb.connect(str(source.database)) as connection:
        connection.execute("UPDATE labels SET key = 'b', label = 'dog', group_id = 'g'")
    assert frozen(source) == "labels_20260302_2"


def test_numbers_as_labels_are_read_as_text(source: DuckDBLabelSource) -> None:
    with duckdb.connect(str(source.database)) as connection:
        connection.execute("CREATE TABLE numbered AS SELECT 'a' AS key, 7 AS label, NULL AS group_id")
    with duckdb.connect() as connection:
        DuckDBLabelSource(source.database, "numbered").attach(connection)
        assert connection.execute("FROM labels").fetchall() == [("a", "7", None)]


def test_a_missing_database_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LabelsError, match="there is no label database; run `overnight import FOLDER` first"):
        DuckDBLabelSource(tmp_path / "none.duckdb", "labels").attach(duckdb.connect())


def test_a_missing_table_is_one_sentence(source: DuckDBLabelSource) -> None:
    with pytest.raises(LabelsError, match="there is no table etiquettes"):
        DuckDBLabelSource(source.database, "etiquettes").attach(duckdb.connect())


def test_a_missing_column_is_one_sentence(source: DuckDBLabelSource) -> None:
    with duckdb.connect(str(source.database)) as connection:
        connection.execute("ALTER TABLE labels RENAME COLUMN label TO category")
    with pytest.raises(LabelsError, match="column label is missing"):
        source.attach(duckdb.connect())


def test_another_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "labels.duckdb"
    path.write_bytes(b"key,label\n" * 2000)
    with pytest.raises(LabelsError, match="this is not a DuckDB database"):
        DuckDBLabelSource(path, "labels").attach(duckdb.connect())


def test_a_database_open_elsewhere_is_one_sentence(source: DuckDBLabelSource) -> None:
    script = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(source.database)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(LabelsError, match="open in another program; close it there and try again"):
            source.create_or_merge(rows(("z", "cat", None)))
        other.communicate()
