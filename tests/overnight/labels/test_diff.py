"""A diff says which labels, rows, classes, images and groups differ."""

from dataclasses import replace
from pathlib import Path

import pytest

from label_house import MONDAY, WEEK, House, first_week
from overnight.labels.diff import ClassChange, LabelChange, SnapshotDiff, diff_snapshots


@pytest.fixture
def difference(house: House, tmp_path: Path) -> SnapshotDiff:
    """Of two weeks between which a bit of everything happened."""
    house.limits = {"max_moved_splits": 0.1}
    before = house.create(MONDAY).snapshot
    week = first_week()
    week.change(week.of("cat")[:3], label="dog")
    week.remove(week.of("bird")[:1])
    week.add("frog", 2)
    week.change_images(4, version=1)
    week.edit(week.of("elephant")[-2:], lambda row: replace(row, group="together"))
    house.write_labels(week.rows)
    house.write_shards(week.images)
    return diff_snapshots(before, house.create(MONDAY + WEEK).snapshot, tmp_path)


def test_keys_are_counted_by_what_happened_to_them(difference: SnapshotDiff) -> None:
    assert (difference.added, difference.removed, difference.relabelled) == (2, 1, 3)
    assert difference.changed_images == 3  # of four, one left
    assert difference.regrouped == 2


def test_examples_are_keys(difference: SnapshotDiff) -> None:
    assert difference.examples["added"] == ("new/frog-0000", "new/frog-0001")
    assert difference.examples["removed"] == ("bird/0000",)
    assert difference.examples["relabelled"] == ("cat/0000", "cat/0001", "cat/0002")


def test_label_changes_are_counted_by_pair(difference: SnapshotDiff) -> None:
    assert difference.label_changes == (LabelChange(old="cat", new="dog", keys=3),)


def test_class_sizes_stand_side_by_side(difference: SnapshotDiff) -> None:
    assert ClassChange(name="cat", before=600, after=597) in difference.classes
    assert ClassChange(name="frog", before=300, after=302) in difference.classes


def test_a_snapshot_does_not_differ_from_itself(house: House, tmp_path: Path) -> None:
    made = house.create().snapshot
    same = diff_snapshots(made, made, tmp_path)
    assert not any((same.added, same.removed, same.relabelled, same.changed_images, same.regrouped, same.moved))
