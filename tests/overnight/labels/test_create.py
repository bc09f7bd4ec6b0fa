"""Snapshots are complete or absent, equal for equal inputs, and a rejection changes nothing."""

import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from label_house import MONDAY, WEEK, House, create_in_child, first_week
from overnight.files import sha256_file
from overnight.labels import create as create_module
from overnight.labels.content import SNAPSHOT_SCHEMA
from overnight.labels.errors import LabelsError, SnapshotRejected
from overnight.labels.snapshots import find_snapshot, list_snapshots, newest_snapshot
from overnight.labels.split import SPLITS, split_code, split_rule


def names(house: House) -> list[str]:
    """Everything in the snapshots folder but the lock."""
    return sorted(path.name for path in house.environment.snapshots_path.glob("*") if path.name != ".lock")


def test_a_snapshot_holds_what_the_formats_page_says(house: House) -> None:
    made = house.create().snapshot
    manifest = json.loads((made.folder / "manifest.json").read_bytes())
    assert made.name == f"20260302-{manifest['content_sha256'][:12]}"
    assert sorted(path.name for path in made.folder.iterdir()) == [
        "classes.json",
        "labels-00000.parquet",
        "manifest.json",
        "report.json",
    ]
    assert manifest["source"] == {
        "kind": "duckdb",
        "database": "labels.duckdb",
        "table": "labels",
        "snapshot_table": "labels_20260302",
        "rows": 2100,
    }
    assert manifest["counts"]["rows"] == 2100
    assert manifest["previous"] is None
    assert sum(manifest["counts"]["classes"]["dog"].values()) == 900
    [file] = manifest["files"]
    assert file["sha256"] == sha256_file(made.folder / file["path"])


def test_the_rows_are_sorted_placed_and_split_by_their_group(house: House) -> None:
    week = first_week()
    made = house.create().snapshot
    table = pq.read_table(made.folder / "labels-00000.parquet")
    assert table.schema.equals(SNAPSHOT_SCHEMA)
    found = table.to_pylist()
    index = {row["key"]: row for row in pq.read_table(house.inputs().shard_set.index_path).to_pylist()}
    rule = split_rule(house.environment.split)
    assert [row["key"] for row in found] == sorted(str(row.key) for row in week.rows)
    wanted = {row.key: row for row in week.rows}
    for row in found:
        source = wanted[row["key"]]
        group = source.group or source.key
        assert made.classes[row["class_id"]] == source.label
        assert row["group_id"] == group
        assert row["split"] == SPLITS[split_code(rule, str(group))]
        assert all(row[name] == index[row["key"]][name] for name in ("shard", "row", "offset", "size", "sha256"))


def test_long_snapshots_are_cut_into_files_with_the_same_content(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = house.validate()
    assert not whole.failed
    monkeypatch.setattr(create_module, "ROWS_PER_FILE", 600)
    made = house.create().snapshot
    assert [entry["rows"] for entry in made.manifest["files"]] == [600, 600, 600, 300]
    keys = [key for path in made.label_files for key in pq.read_table(path)["key"].to_pylist()]
    assert keys == sorted(str(row.key) for row in first_week().rows)
    monkeypatch.undo()
    assert house.create(MONDAY + WEEK).reused


def test_equal_inputs_give_equal_bytes_in_any_order_of_rows(tmp_path: Path) -> None:
    digests = []
    for number, backwards in enumerate((False, True)):
        house, week = House(tmp_path / str(number)), first_week()
        house.write_labels(reversed(week.rows) if backwards else week.rows)
        house.write_shards(week.images)
        folder = house.create().snapshot.folder
        digests.append({path.name: sha256_file(path) for path in folder.iterdir()})
    assert digests[0] == digests[1]


def test_unchanged_labels_use_the_last_snapshot_again(house: House) -> None:
    first = house.create()
    before = house.files()
    again = house.create(MONDAY + WEEK)
    assert again.reused
    assert again.snapshot.name == first.snapshot.name
    assert house.files() == before


def test_the_same_labels_on_a_new_shard_set_are_a_new_snapshot(house: House) -> None:
    first = house.create().snapshot
    week = first_week()
    week.images += [replace(week.images[0], key="zebra/new")]
    house.write_shards(week.images)
    second = house.create(MONDAY + WEEK).snapshot
    assert second.manifest["shard_set"]["name"] == "0002"
    assert second.manifest["previous"] == {"name": first.name, "sha256": first.sha256}


def test_labels_that_go_back_on_the_same_day_get_a_name_of_their_own(house: House) -> None:
    first = house.create().snapshot
    house.sql("UPDATE labels SET label = 'cat' WHERE key = 'dog/0001'")
    second = house.create().snapshot
    house.sql("UPDATE labels SET label = 'dog' WHERE key = 'dog/0001'")
    third = house.create().snapshot
    assert third.name == f"{first.name}-2"
    assert third.manifest["source"]["snapshot_table"] == "labels_20260302"
    assert second.manifest["source"]["snapshot_table"] == "labels_20260302_2"
    assert [item.name for item in list_snapshots(house.environment.snapshots_path)] == [
        first.name,
        second.name,
        third.name,
    ]
    assert find_snapshot(house.environment.snapshots_path, "latest").name == third.name


def test_a_rejection_keeps_its_report_and_changes_nothing_else(house: House) -> None:
    accepted = house.create().snapshot
    house.sql("DELETE FROM labels WHERE key < 'bird/0040'")
    before = house.files()
    with pytest.raises(SnapshotRejected, match="class_counts") as caught:
        house.create(MONDAY + WEEK)
    after = house.files()
    report = caught.value.report
    assert report is not None
    relative = str(report.relative_to(house.environment.root_path))
    assert {name: digest for name, digest in after.items() if name != relative} == before
    content = json.loads(report.read_bytes())
    assert content["verdict"] == "rejected"
    assert content["previous"]["name"] == accepted.name
    assert caught.value.exit_code == 3
    assert newest_snapshot(house.environment.snapshots_path) == accepted


def test_a_time_before_the_newest_snapshot_is_refused(house: House) -> None:
    house.create(MONDAY)
    with pytest.raises(LabelsError, match="lies before the newest snapshot"):
        house.create(MONDAY - WEEK)


def test_an_index_that_was_tampered_with_is_refused(house: House) -> None:
    index = house.inputs().shard_set.index_path
    index.write_bytes(index.read_bytes()[:-1] + b"?")
    with pytest.raises(LabelsError, match="differs from what the shard set's manifest says"):
        house.create()


def test_a_previous_snapshot_with_a_lost_file_is_named(house: House) -> None:
    house.create().snapshot.label_files[0].unlink()
    with pytest.raises(LabelsError, match=r"labels-00000.parquet: this file of a snapshot is missing"):
        house.create(MONDAY + WEEK)


def test_a_root_with_pattern_characters_in_its_name_works(tmp_path: Path) -> None:
    house, week = House(tmp_path / "it's [a] *root*"), first_week()
    house.write_labels(week.rows)
    house.write_shards(week.images)
    house.create()
    assert house.create(MONDAY + WEEK).reused


def test_a_dated_table_left_by_a_crash_is_used(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(create_module, "_publish", crash)
        with pytest.raises(KeyboardInterrupt):
            house.create()
    assert names(house) == []
    assert house.create().snapshot.manifest["source"]["snapshot_table"] == "labels_20260302"


def test_killed_at_any_moment_a_snapshot_is_complete_or_absent(house: House, tmp_path: Path) -> None:
    """SIGKILL at twelve moments spread over a run; then a rerun must succeed and give the usual bytes."""
    reference = House(tmp_path / "reference")
    week = first_week()
    reference.write_labels(week.rows)
    reference.write_shards(week.images)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["label_house"])
    started = time.monotonic()
    _child(context, reference).join()
    whole = time.monotonic() - started
    expected = newest_snapshot(reference.environment.snapshots_path)
    assert expected is not None
    for step in range(12):
        child = _child(context, house)
        child.join(whole * (step + 1) / 13)
        child.kill()
        child.join()
        found = newest_snapshot(house.environment.snapshots_path)
        assert found is None or found.sha256 == expected.sha256
        if found is not None:
            found.folder.rename(tmp_path / f"done-{step}")
    assert house.create().snapshot.sha256 == expected.sha256
    assert names(house) == [expected.name]
    assert house.sql("SELECT table_name FROM duckdb_tables() ORDER BY 1") == [("labels",), ("labels_20260302",)]


@pytest.mark.parametrize("limit", [20_000, 90_000, 400_000])
def test_on_a_full_disk_there_is_one_sentence_and_no_half_snapshot(house: House, limit: int) -> None:
    """A limit on the size of files stands for a full disk; it hits the label file, or the label database."""

    def full_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    before = house.files()
    command = [sys.executable, "-m", "overnight", "snapshot", "create", "--config", str(house.config)]
    done = subprocess.run(
        [*command, "--now", "2026-03-02T02:00:00Z"],
        capture_output=True,
        text=True,
        preexec_fn=full_disk,
        env={**os.environ, "TMPDIR": str(house.root)},
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert names(house) == []
    assert {name: digest for name, digest in house.files().items() if not name.startswith("labels.duckdb")} == {
        name: digest for name, digest in before.items() if not name.startswith("labels.duckdb")
    }
    assert house.create().snapshot.rows == 2100


def _child(context: multiprocessing.context.ForkServerContext, house: House) -> multiprocessing.process.BaseProcess:
    child = context.Process(target=create_in_child, args=(house.root, MONDAY))
    child.start()
    return child
