"""The demo's script: who comes late, what is wrong at first, what the bad export does."""

from pathlib import Path

import duckdb

from overnight.demo.weeks import CORRECTIONS, ORPHANS, Row, bad_export_sql, correction_sql, plan, write_table

ROWS = [Row(f"k{number:04d}", f"class-{number % 7}", f"g{number // 3}") for number in range(2100)]


def labels(rows: list[Row]) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    database.execute("CREATE TABLE labels (key VARCHAR, label VARCHAR, group_id VARCHAR)")
    database.executemany("INSERT INTO labels VALUES (?, ?, ?)", [(row.key, row.label, row.group) for row in rows])
    return database


def test_the_two_weeks_hold_every_row_once_and_no_group_twice() -> None:
    script = plan(ROWS)
    assert sorted(row.key for row in (*script.first, *script.second)) == [row.key for row in ROWS]
    assert not {row.group for row in script.first} & {row.group for row in script.second}
    assert 0.03 < len(script.second) / len(ROWS) < 0.1


def test_the_corrections_restore_the_true_labels() -> None:
    script = plan(ROWS)
    database = labels(list(script.first))
    for statement in correction_sql(script):
        database.execute(statement)
    truth = {row.key: row.label for row in ROWS}
    assert len(script.corrections) == CORRECTIONS
    assert all(truth[key] == label for key, label, _ in database.execute("FROM labels").fetchall())


def test_the_bad_export_loses_a_part_of_one_class_and_adds_orphans_and_a_duplicate() -> None:
    database = labels(ROWS)
    for statement in bad_export_sql(ROWS):
        database.execute(statement)
    count, distinct, known = database.execute(
        "SELECT count(*), count(DISTINCT key), count(*) FILTER (key NOT LIKE 'gone-%') FROM labels"
    ).fetchone() or (0, 0, 0)
    assert count == distinct + 1
    assert count - known == ORPHANS
    assert known == len(ROWS) - 45 + 1


def test_the_plan_and_its_table_are_the_same_twice(tmp_path: Path) -> None:
    assert plan(ROWS) == plan(list(ROWS))
    write_table(plan(ROWS).first, tmp_path / "a.csv")
    write_table(plan(ROWS).first, tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
