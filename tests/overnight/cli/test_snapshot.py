"""`overnight snapshot` as a person and a script use it: what is printed, exit codes, files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from label_house import House, first_week
from overnight.files import locked


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A root with the first week's labels and shards."""
    made, week = House(tmp_path / "house"), first_week()
    made.write_labels(week.rows)
    made.write_shards(week.images)
    return made


def overnight(house: House, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "overnight", "snapshot", *arguments, "--config", str(house.config)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def created(house: House, now: str = "2026-03-02T02:00:00Z") -> str:
    """Create a snapshot and return its name."""
    done = overnight(house, "create", "--now", now, "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["name"])


def test_create_prints_the_checks_and_ends_with_the_name(house: House) -> None:
    done = overnight(house, "create", "--now", "2026-03-02T02:00:00Z")
    assert done.returncode == 0
    lines = done.stdout.strip().splitlines()
    assert "row_count" in done.stdout
    assert (house.environment.snapshots_path / lines[-1].strip() / "manifest.json").exists()


def test_create_again_says_that_nothing_changed(house: House) -> None:
    name = created(house)
    done = overnight(house, "create", "--now", "2026-03-09T02:00:00Z")
    assert done.returncode == 0
    assert "Nothing changed since the last snapshot" in done.stdout
    assert done.stdout.strip().endswith(name)


def test_a_rejection_exits_with_3_names_the_check_and_the_report(house: House) -> None:
    created(house)
    house.sql("DELETE FROM labels WHERE key < 'bird/0040'")
    done = overnight(house, "create", "--now", "2026-03-09T02:00:00Z")
    assert done.returncode == 3
    assert "bird: 200 rows, 40 lost, 0 gained" in done.stdout
    assert "checks failed (class_counts)" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    [report] = house.environment.snapshots_path.glob("rejected/*/report.json")
    assert str(report) in done.stderr


def test_a_rejection_in_json_is_the_report(house: House) -> None:
    house.sql("UPDATE labels SET label = NULL WHERE key = 'dog/0001'")
    done = overnight(house, "create", "--now", "2026-03-09T02:00:00Z", "--json")
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert [check["name"] for check in report["checks"] if check["verdict"] == "fail"] == ["nulls"]
    assert report["format"] == "overnight.validation/1"


def test_validate_writes_nothing_whatever_it_finds(house: House) -> None:
    before = house.files()
    assert overnight(house, "validate").returncode == 0
    assert house.files() == before
    house.sql("INSERT INTO labels SELECT * FROM labels WHERE key = 'dog/0001'")
    before = house.files()
    done = overnight(house, "validate")
    assert done.returncode == 3
    assert "duplicate_keys" in done.stderr
    assert house.files() == before
    assert not house.environment.snapshots_path.exists()


def test_show_tells_origin_classes_and_checks(house: House) -> None:
    name = created(house)
    done = overnight(house, "show")
    assert done.returncode == 0
    assert all(text in done.stdout for text in (name, "labels_20260302", "elephant", "near_duplicates"))
    shown = json.loads(overnight(house, "show", name, "--json").stdout)
    assert shown["counts"]["rows"] == 2100
    assert len(shown["sha256"]) == 64


def test_list_and_diff_over_two_weeks(house: House) -> None:
    first = created(house)
    house.sql("UPDATE labels SET label = 'dog' WHERE key IN ('cat/0001', 'cat/0002')")
    second = created(house, "2026-03-09T02:00:00Z")
    listed = json.loads(overnight(house, "list", "--json").stdout)
    assert [item["name"] for item in listed] == [first, second]
    found = json.loads(overnight(house, "diff", first, "--json").stdout)
    assert found["after"] == second
    assert found["label_changes"] == [{"old": "cat", "new": "dog", "keys": 2}]
    printed = overnight(house, "diff", first, second).stdout
    assert "labels changed" in printed
    assert "cat/0001" in printed


def test_two_creates_at_once_are_refused(house: House) -> None:
    with locked(house.environment.snapshots_path, "snapshot command"):
        done = overnight(house, "create")
    assert done.returncode == 2
    assert "another snapshot command is running" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("show", "20260302-000000000000"), "there is no snapshot"),
        (("show", "../data"), "there is no snapshot"),
        (("create", "--shards", "0009"), "there is no shard set '0009'"),
        (("create", "--now", "monday"), "'monday' is not a time"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(house: House, arguments: tuple[str, ...], sentence: str) -> None:
    done = overnight(house, *arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(house.environment.snapshots_path.glob("2*"))
