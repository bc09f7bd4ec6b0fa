"""Bad exports are rejected by the right check; harmless changes pass. One snapshot was accepted the week before."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from label_house import MONDAY, WEEK, House, Image, Row, Week, first_week, rotate

Change = Callable[[Week], None]


@pytest.fixture(scope="module")
def accepted(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A root whose first week has become a snapshot."""
    house = House(tmp_path_factory.mktemp("accepted"))
    week = first_week()
    house.write_labels(week.rows)
    house.write_shards(week.images, week.quarantined)
    house.create(MONDAY)
    return house


@pytest.fixture
def second_week(accepted: House, tmp_path: Path) -> House:
    """A copy of it in which the next week may go wrong."""
    return House(Path(shutil.copytree(accepted.root, tmp_path / "house")))


def failed(house: House, change: Change) -> set[str]:
    """The checks that fail after `change`."""
    week = first_week()
    change(week)
    house.write_labels(week.rows)
    house.write_shards(week.images, week.quarantined)
    return set(house.validate(MONDAY + WEEK).failed)


# Rows that are too few, too many, or not of this table.


def empty_table(week: Week) -> None:
    week.rows = []


def a_tenth_is_left(week: Week) -> None:
    week.rows = week.rows[::10]


def six_percent_lost_evenly(week: Week) -> None:
    week.remove(week.rows[::16])


def truncated_at_the_end(week: Week) -> None:
    week.rows = week.rows[:1950]


def joined_twice(week: Week) -> None:
    week.rows = week.rows * 2


def other_project(week: Week) -> None:
    week.rows = [replace(row, key=f"other-{row.key}") for row in week.rows]


def first_fifty_rows(week: Week) -> None:
    week.rows = week.rows[:50]


# Keys.


def a_row_twice(week: Week) -> None:
    week.rows.append(week.rows[7])


def a_row_twice_with_another_group(week: Week) -> None:
    week.rows.append(replace(week.rows[7], group="another"))


def a_batch_appended_again(week: Week) -> None:
    week.rows += week.rows[300:400]


def one_key_two_labels(week: Week) -> None:
    week.rows.append(replace(week.of("cat")[7], label="dog"))


def two_annotators(week: Week) -> None:
    week.rows += [replace(row, label="dog") for row in week.of("cat")[:50]]


def one_null_key(week: Week) -> None:
    week.rows.append(Row(None, "cat"))


def a_blank_key(week: Week) -> None:
    week.rows.append(Row("  ", "cat"))


def keys_with_suffix(week: Week) -> None:
    week.edit(week.of("cat")[:20], lambda row: replace(row, key=f"{row.key}.jpg"))


def absolute_keys(week: Week) -> None:
    week.edit(week.rows[:20], lambda row: replace(row, key=f"/{row.key}"))


def keys_with_a_space_behind(week: Week) -> None:
    week.edit(week.rows[:1], lambda row: replace(row, key=f"{row.key} "))


def windows_keys(week: Week) -> None:
    week.edit(week.rows[:1], lambda row: replace(row, key=str(row.key).replace("/", "\\")))


def accented_key(week: Week) -> None:
    week.rows.append(Row("cat/é", "cat"))


def a_key_too_long(week: Week) -> None:
    week.rows.append(Row("k" * 91, "cat"))


def orphans(week: Week) -> None:
    week.add("dog", 25, prefix="gone", with_images=False)


def keys_in_capitals(week: Week) -> None:
    week.edit(week.of("bird")[:20], lambda row: replace(row, key=str(row.key).upper()))


def images_deleted(week: Week) -> None:
    week.images = week.images[20:]


def labels_forgotten(week: Week) -> None:
    week.images += [Image(f"new/{number:04d}") for number in range(60)]


def many_broken_images(week: Week) -> None:
    week.quarantined = [image.key for image in week.images[::30]]
    week.images = [image for image in week.images if image.key not in week.quarantined]


# Labels.


def one_null_label(week: Week) -> None:
    week.change(week.rows[:1], label=None)


def empty_labels(week: Week) -> None:
    week.change(week.rows[::100], label="")


def invisible_label(week: Week) -> None:
    week.change(week.rows[:1], label="\u200b\u00a0\t")


def every_label_null(week: Week) -> None:
    week.change(week.rows, label=None)


def a_space_behind_a_label(week: Week) -> None:
    week.change(week.of("cat")[:3], label="cat ")


def a_capital(week: Week) -> None:
    week.change(week.of("cat")[:3], label="Cat")


def full_width_letters(week: Week) -> None:
    week.change(week.of("cat")[:3], label="ｃａｔ")


def a_typo(week: Week) -> None:
    week.change(week.of("elephant")[:1], label="elefant")


def an_unannounced_class(week: Week) -> None:
    week.add("goat", 40)


def numbers_for_names(week: Week) -> None:
    numbers = {"bird": "0", "cat": "1", "dog": "2", "elephant": "3", "frog": "4"}
    week.edit(week.rows, lambda row: replace(row, label=numbers[str(row.label)]))


def a_class_renamed(week: Week) -> None:
    week.change(week.of("frog"), label="toad")


def a_class_gone(week: Week) -> None:
    week.remove(week.of("elephant"))


def a_class_merged_away(week: Week) -> None:
    week.change(week.of("elephant"), label="dog")


def fifteen_percent_of_a_class_lost(week: Week) -> None:
    week.remove(week.of("elephant")[:15])


def fifteen_percent_of_a_class_and_its_images_lost(week: Week) -> None:
    lost = week.of("elephant")[:15]
    keys = {row.key for row in lost}
    week.remove(lost)
    week.images = [image for image in week.images if image.key not in keys]


def fifteen_percent_of_the_largest_class_lost(week: Week) -> None:
    week.remove(week.of("dog")[:135])


def half_a_class_lost_while_others_grow(week: Week) -> None:
    lost = week.of("frog")[:150]
    keys = {row.key for row in lost}
    week.remove(lost)
    week.images = [image for image in week.images if image.key not in keys]
    week.add("dog", 150)


def one_class_swells(week: Week) -> None:
    week.add("elephant", 700)


def everything_is_a_dog(week: Week) -> None:
    week.change(week.rows, label="dog")


def labels_rotated(week: Week) -> None:
    after = rotate(["bird", "cat", "dog", "elephant", "frog"])
    week.edit(week.rows, lambda row: replace(row, label=after[str(row.label)]))


def two_classes_swapped(week: Week) -> None:
    birds, elephants = week.of("bird")[:80], week.of("elephant")[:80]
    week.change(birds, label="elephant")
    week.change(elephants, label="bird")


def labels_shifted_by_a_row(week: Week) -> None:
    labels = [row.label for row in week.rows]
    shifted = labels[40:] + labels[:40]
    week.rows = [replace(row, label=label) for row, label in zip(week.rows, shifted, strict=True)]


def a_tenth_relabelled(week: Week) -> None:
    cats, dogs = week.of("cat")[:105], week.of("dog")[:105]
    week.change(cats, label="dog")
    week.change(dogs, label="cat")


def half_of_a_small_class_relabelled(week: Week) -> None:
    week.change(week.of("elephant")[:50], label="frog")


# Groups, splits, images.


def one_group_for_all(week: Week) -> None:
    week.change(week.rows, group="batch-1")


def a_group_for_a_class(week: Week) -> None:
    week.edit(week.of("frog"), lambda row: replace(row, group="frogs"))


def groups_lost(week: Week) -> None:
    week.change(week.rows, group=None)


def groups_renamed(week: Week) -> None:
    week.edit([row for row in week.rows if row.group], lambda row: replace(row, group=f"v2-{row.group}"))


def images_overwritten(week: Week) -> None:
    week.change_images(60, version=1)


def thumbnails_instead_of_images(week: Week) -> None:
    week.change_images(len(week.images), version=1)


def one_picture_many_times(week: Week) -> None:
    week.change_images(700, phash=0x0F0F_3355_1234_ABCD)


def bursts_without_a_group(week: Week) -> None:
    one_bit = (0, 1 << 3, 1 << 40)
    week.images = [
        replace(image, phash=week.images[number - number % 3].hash_of_picture ^ one_bit[number % 3])
        for number, image in enumerate(week.images)
    ]


BAD: list[tuple[Change, set[str]]] = [
    (empty_table, {"row_count", "images_without_label", "number_of_classes", "vanished_classes", "split_sizes"}),
    (a_tenth_is_left, {"row_count", "images_without_label", "class_counts", "split_sizes"}),
    (six_percent_lost_evenly, {"row_count", "images_without_label"}),
    (truncated_at_the_end, {"row_count", "images_without_label", "class_counts"}),
    (joined_twice, {"row_count", "duplicate_keys"}),
    (other_project, {"labels_without_image", "images_without_label", "vanished_classes", "split_sizes"}),
    (
        first_fifty_rows,
        {"row_count", "images_without_label", "number_of_classes", "vanished_classes", "class_balance_drift"}
        | {"class_counts"},
    ),
    (a_row_twice, {"duplicate_keys"}),
    (a_row_twice_with_another_group, {"duplicate_keys"}),
    (a_batch_appended_again, {"duplicate_keys"}),
    (one_key_two_labels, {"conflicting_keys"}),
    (two_annotators, {"conflicting_keys"}),
    (one_null_key, {"nulls"}),
    (a_blank_key, {"nulls"}),
    (keys_with_suffix, {"bad_keys"}),
    (absolute_keys, {"bad_keys"}),
    (keys_with_a_space_behind, {"bad_keys"}),
    (windows_keys, {"bad_keys"}),
    (accented_key, {"bad_keys"}),
    (a_key_too_long, {"bad_keys"}),
    (orphans, {"labels_without_image"}),
    (keys_in_capitals, {"labels_without_image"}),
    (images_deleted, {"labels_without_image"}),
    (labels_forgotten, {"images_without_label"}),
    (many_broken_images, {"quarantined"}),
    (one_null_label, {"nulls"}),
    (empty_labels, {"nulls"}),
    (invisible_label, {"nulls"}),
    (every_label_null, {"nulls", "number_of_classes", "vanished_classes", "split_sizes"}),
    (a_space_behind_a_label, {"label_spelling"}),
    (a_capital, {"label_spelling"}),
    (full_width_letters, {"label_spelling"}),
    (a_typo, {"unknown_classes"}),
    (an_unannounced_class, {"unknown_classes"}),
    (numbers_for_names, {"unknown_classes", "vanished_classes", "class_balance_drift", "label_churn"}),
    (a_class_renamed, {"unknown_classes", "vanished_classes", "class_balance_drift", "label_churn"}),
    (a_class_gone, {"images_without_label", "vanished_classes", "class_balance_drift"}),
    (a_class_merged_away, {"vanished_classes", "class_balance_drift", "label_churn"}),
    (fifteen_percent_of_a_class_lost, {"class_counts"}),
    (fifteen_percent_of_a_class_and_its_images_lost, {"class_counts"}),
    (fifteen_percent_of_the_largest_class_lost, {"row_count", "images_without_label", "class_counts"}),
    (half_a_class_lost_while_others_grow, {"class_counts", "class_balance_drift"}),
    (one_class_swells, {"class_balance_drift"}),
    (everything_is_a_dog, {"number_of_classes", "vanished_classes", "class_balance_drift", "label_churn"}),
    (labels_rotated, {"class_balance_drift", "label_churn"}),
    (two_classes_swapped, {"label_churn"}),
    (labels_shifted_by_a_row, {"label_churn"}),
    (a_tenth_relabelled, {"label_churn"}),
    (half_of_a_small_class_relabelled, {"label_churn"}),
    (one_group_for_all, {"split_sizes", "split_moved"}),
    (a_group_for_a_class, {"split_sizes", "split_moved"}),
    (groups_lost, {"split_moved"}),
    (groups_renamed, {"split_moved"}),
    (images_overwritten, {"changed_images"}),
    (thumbnails_instead_of_images, {"changed_images"}),
    (one_picture_many_times, {"near_duplicates"}),
    (bursts_without_a_group, {"near_duplicates"}),
]


@pytest.mark.parametrize(("change", "checks"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bad_export_is_rejected_by_the_right_checks(second_week: House, change: Change, checks: set[str]) -> None:
    assert failed(second_week, change) == checks


# Changes that a normal week brings.


def nothing(week: Week) -> None:
    pass


def rows_in_another_order(week: Week) -> None:
    week.rows.reverse()


def two_percent_corrected(week: Week) -> None:
    week.change(week.of("cat")[:40], label="dog")


def one_correction_in_a_small_class(week: Week) -> None:
    week.change(week.of("elephant")[:1], label="dog")


def a_fifth_of_a_small_class_corrected(week: Week) -> None:
    week.change(week.of("elephant")[:20], label="dog")


def two_hundred_images_added(week: Week) -> None:
    for label, count in (("bird", 20), ("cat", 60), ("dog", 80), ("elephant", 10), ("frog", 30)):
        week.add(label, count)


def a_third_more_of_everything(week: Week) -> None:
    for label, count in (("bird", 66), ("cat", 200), ("dog", 300), ("elephant", 33), ("frog", 100)):
        week.add(label, count)


def a_small_class_doubled(week: Week) -> None:
    week.add("elephant", 100)


def one_image_removed(week: Week) -> None:
    week.remove(week.rows[:1])
    week.images = week.images[1:]


def ten_images_of_a_small_class_removed(week: Week) -> None:
    lost = week.of("elephant")[:10]
    keys = {row.key for row in lost}
    week.remove(lost)
    week.images = [image for image in week.images if image.key not in keys]


def images_exchanged_for_better_ones(week: Week) -> None:
    ten_images_of_a_small_class_removed(week)
    week.add("elephant", 12)


def three_percent_retired_evenly(week: Week) -> None:
    lost = week.rows[::33]
    keys = {row.key for row in lost}
    week.remove(lost)
    week.images = [image for image in week.images if image.key not in keys]


def images_not_labelled_yet(week: Week) -> None:
    week.images += [Image(f"new/{number:04d}") for number in range(30)]


def a_few_rows_not_exported_yet(week: Week) -> None:
    week.remove(week.rows[::100])


def two_images_missing(week: Week) -> None:
    week.images = week.images[2:]


def a_few_broken_images(week: Week) -> None:
    week.quarantined = [image.key for image in week.images[::70]]
    week.images = [image for image in week.images if image.key not in week.quarantined]


def a_broken_image_nobody_labelled(week: Week) -> None:
    week.quarantined = ["new/broken"]


def a_few_images_retouched(week: Week) -> None:
    week.change_images(15, version=1)


def blank_images(week: Week) -> None:
    week.change_images(900, phash=0)


def a_few_images_alike(week: Week) -> None:
    week.change_images(40, phash=0x0F0F_3355_1234_ABCD)


def new_images_with_groups(week: Week) -> None:
    week.add("dog", 60)
    week.edit(week.rows[-60:], lambda row: replace(row, group=f"walk-{str(row.key)[-3:-1]}"))


def groups_written_out(week: Week) -> None:
    week.edit(week.rows, lambda row: replace(row, group=row.group or row.key))


def blank_groups_for_none(week: Week) -> None:
    week.edit(week.rows, lambda row: replace(row, group=row.group or ""))


def a_new_image_alone_in_its_group(week: Week) -> None:
    week.add("frog", 1)


def keys_with_deep_folders(week: Week) -> None:
    week.rows.append(Row("a/b/c/d-e_f/0001", "dog"))
    week.images.append(Image("a/b/c/d-e_f/0001"))


def a_key_of_ninety_bytes(week: Week) -> None:
    week.rows.append(Row("k" * 90, "cat"))
    week.images.append(Image("k" * 90))


def a_few_swaps_between_two_classes(week: Week) -> None:
    week.change(week.of("bird")[:15], label="elephant")
    week.change(week.of("elephant")[:5], label="bird")


HARMLESS: list[Change] = [
    nothing,
    rows_in_another_order,
    two_percent_corrected,
    one_correction_in_a_small_class,
    a_fifth_of_a_small_class_corrected,
    two_hundred_images_added,
    a_third_more_of_everything,
    a_small_class_doubled,
    one_image_removed,
    ten_images_of_a_small_class_removed,
    images_exchanged_for_better_ones,
    three_percent_retired_evenly,
    images_not_labelled_yet,
    a_few_rows_not_exported_yet,
    two_images_missing,
    a_few_broken_images,
    a_broken_image_nobody_labelled,
    a_few_images_retouched,
    blank_images,
    a_few_images_alike,
    new_images_with_groups,
    groups_written_out,
    blank_groups_for_none,
    a_new_image_alone_in_its_group,
    keys_with_deep_folders,
    a_key_of_ninety_bytes,
    a_few_swaps_between_two_classes,
]


@pytest.mark.parametrize("change", HARMLESS, ids=lambda change: change.__name__)
def test_a_harmless_change_passes(second_week: House, change: Change) -> None:
    assert failed(second_week, change) == set()


def test_the_suite_is_as_large_as_promised() -> None:
    assert len({change for change, _ in BAD}) >= 36
    assert len(set(HARMLESS)) >= 24
