"""Each check on its own: where it passes, warns and fails, and that it says what to do."""

from dataclasses import replace

import pytest

from overnight.config import SplitConfig, ValidationConfig
from overnight.labels.checks import classes, rows, run_checks, splits
from overnight.labels.facts import ClassFacts, Found, LabelChange, SnapshotFacts

LIMITS = ValidationConfig()
SPLIT = SplitConfig()

CAT = ClassFacts(name="cat", splits=(700, 100, 200), before=1000)
DOG = ClassFacts(name="dog", splits=(700, 100, 200), before=1000)
FACTS = SnapshotFacts(
    rows=2000,
    rows_before=2000,
    images=2000,
    classes=(CAT, DOG),
    class_total=2,
    classes_before=frozenset({"cat", "dog"}),
    label_rows=(("cat", 1000), ("dog", 1000)),
    surviving=2000,
)
FIRST = replace(
    FACTS,
    rows_before=None,
    classes_before=None,
    surviving=0,
    classes=(replace(CAT, before=0, gained=1000), replace(DOG, before=0, gained=1000)),
)


@pytest.mark.parametrize("facts", [FACTS, FIRST])
def test_good_labels_pass_every_check(facts: SnapshotFacts) -> None:
    results = run_checks(facts, LIMITS, SPLIT)
    assert {result.verdict for result in results} == {"pass"}
    assert len({result.name for result in results}) == len(results) == 19


@pytest.mark.parametrize(
    ("rows_now", "before", "verdict"),
    [
        (100, None, "pass"),
        (99, None, "fail"),
        (1900, 2000, "pass"),
        (1899, 2000, "fail"),
        (3000, 2000, "pass"),
        (3001, 2000, "fail"),
    ],
)
def test_row_count_is_held_against_limits_and_the_last_snapshot(
    rows_now: int, before: int | None, verdict: str
) -> None:
    assert rows.row_count(replace(FACTS, rows=rows_now, rows_before=before), LIMITS).verdict == verdict


def test_row_count_gives_both_numbers() -> None:
    message = rows.row_count(replace(FACTS, rows=1500), LIMITS).message
    assert "1,500 rows where at least 1,900 were expected" in message
    assert "it had 2,000 at the last snapshot (−25 %)" in message


@pytest.mark.parametrize(
    ("check", "fact", "limit"),
    [
        (rows.bad_keys, "bad_keys", "max_bad_keys"),
        (rows.duplicate_keys, "duplicate_keys", "max_duplicate_keys"),
        (rows.conflicting_keys, "conflicting_keys", "max_conflicting_keys"),
        (rows.labels_without_image, "labels_without_image", "max_labels_without_image"),
        (rows.quarantined, "quarantined", "max_quarantined"),
        (rows.images_without_label, "images_without_label", "max_images_without_label"),
        (rows.nulls, "null_keys", "max_nulls"),
        (rows.nulls, "null_labels", "max_nulls"),
    ],
)
def test_a_share_passes_at_none_warns_up_to_its_limit_and_fails_beyond(check, fact: str, limit: str) -> None:  # type: ignore[no-untyped-def]
    limits = LIMITS.model_copy(update={limit: 0.01})

    def verdict(count: int) -> str:
        return str(check(replace(FACTS, **{fact: Found(count=count, examples=("k",))}), limits).verdict)

    assert [verdict(count) for count in (0, 20, 21)] == ["pass", "warn", "fail"]


def test_a_failed_share_says_number_limit_and_remedy() -> None:
    found = Found(count=25, examples=("gone/1", "gone/2"))
    result = rows.labels_without_image(replace(FACTS, labels_without_image=found), LIMITS)
    assert result.message == (
        "25 of 2,000 rows (1.2 %) name an image that the shard set does not hold; at most 0.1 % may."
        " Run `overnight shards build` if images were added since; otherwise delete the rows."
    )
    assert (result.value, result.threshold, result.examples) == (0.0125, 0.001, ("gone/1", "gone/2"))


@pytest.mark.parametrize("label", ["Cat", "cat ", " cat", "CAT", "ｃａｔ", "c\u00a0at"])
def test_another_way_to_write_a_class_is_a_matter_of_spelling_only(label: str) -> None:
    facts = replace(FACTS, label_rows=(*FACTS.label_rows, (label, 1)))
    assert classes.label_spelling(facts, LIMITS).examples == (f"{label!r} for 'cat' (1 row)",)
    assert classes.unknown_classes(facts, LIMITS).verdict == "pass"


def test_in_a_first_import_the_spelling_with_most_rows_is_right() -> None:
    facts = replace(FIRST, label_rows=(("Cat", 30), ("cat", 1000)))
    assert classes.label_spelling(facts, LIMITS).examples == ("'Cat' for 'cat' (30 rows)",)


def test_classes_that_were_always_alike_may_stay() -> None:
    facts = replace(FACTS, classes_before=frozenset({"US", "us"}), label_rows=(("US", 10), ("us", 10)))
    assert classes.label_spelling(facts, LIMITS).verdict == "pass"


@pytest.mark.parametrize(("total", "verdict"), [(0, "fail"), (1, "fail"), (2, "pass"), (50_001, "fail")])
def test_there_are_at_least_two_classes_and_not_one_an_image(total: int, verdict: str) -> None:
    assert classes.number_of_classes(replace(FACTS, class_total=total), LIMITS).verdict == verdict


def test_new_classes_fail_unless_allowed() -> None:
    facts = replace(FACTS, label_rows=(*FACTS.label_rows, ("goat", 50)))
    allowed = LIMITS.model_copy(update={"allow_new_classes": True})
    assert classes.unknown_classes(facts, LIMITS).verdict == "fail"
    assert classes.unknown_classes(facts, allowed).verdict == "warn"


def test_vanished_classes_fail_unless_allowed() -> None:
    facts = replace(FACTS, classes=(CAT, replace(DOG, splits=(0, 0, 0), lost=1000)))
    allowed = LIMITS.model_copy(update={"allow_vanished_classes": True})
    assert classes.vanished_classes(facts, LIMITS).examples == ("dog",)
    assert classes.vanished_classes(facts, allowed).verdict == "warn"
    assert classes.class_counts(facts, LIMITS).verdict == "pass"


def test_balance_drift_names_the_classes_that_moved_most() -> None:
    facts = replace(FACTS, classes=(CAT, replace(DOG, splits=(1400, 200, 400), gained=1000)))
    result = classes.class_balance_drift(facts, LIMITS)
    assert result.verdict == "fail"
    assert result.examples[0] == "cat: -16.7 points"


@pytest.mark.parametrize(
    ("before", "lost", "gained", "verdict"),
    [
        (1000, 150, 0, "fail"),
        (85, 13, 0, "fail"),
        (20, 3, 0, "pass"),  # three images of twenty: chance
        (85, 10, 0, "pass"),
        (1000, 150, 100, "pass"),  # net 5 %
        (10_000_000, 50_000, 0, "pass"),  # surely not chance, but only half a percent
        (10_000_000, 1_100_000, 0, "fail"),
        (100, 0, 150, "warn"),
        (3, 0, 9, "pass"),
    ],
)
def test_a_class_fails_on_a_loss_that_is_large_and_no_chance(before: int, lost: int, gained: int, verdict: str) -> None:
    item = ClassFacts(name="cat", splits=(before - lost + gained, 0, 0), before=before, lost=lost, gained=gained)
    assert classes.class_counts(replace(FACTS, classes=(item, DOG)), LIMITS).verdict == verdict


@pytest.mark.parametrize(
    ("changed", "verdict"), [(0, "pass"), (40, "pass"), (100, "pass"), (132, "pass"), (133, "fail"), (2000, "fail")]
)
def test_label_churn_fails_when_it_is_surely_over_5_percent(changed: int, verdict: str) -> None:
    facts = replace(FACTS, relabelled=changed, label_changes=(LabelChange(key="k", old="cat", new="dog"),))
    result = classes.label_churn(facts, LIMITS)
    assert result.verdict == verdict
    assert result.examples == ("k (cat → dog)",)


@pytest.mark.parametrize(("before", "changed", "verdict"), [(20, 5, "pass"), (20, 12, "fail"), (1000, 310, "fail")])
def test_label_churn_fails_for_a_single_class(before: int, changed: int, verdict: str) -> None:
    item = ClassFacts(name="cat", splits=(before, 0, 0), before=before, relabelled=changed)
    facts = replace(FACTS, classes=(item,), surviving=100_000, relabelled=changed)
    assert classes.label_churn(facts, LIMITS).verdict == verdict


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        ((70, 10, 20), "pass"),
        ((5, 5, 5), "pass"),
        ((4, 5, 5), "fail"),
        ((60, 0, 5), "warn"),  # of 65 rows 6.5 were to be expected in validation: a small class
        ((200, 0, 60), "fail"),  # of 260 rows 26
        ((30, 5, 0), "warn"),
        ((95, 5, 0), "fail"),
    ],
)
def test_a_class_needs_rows_in_every_split(sizes: tuple[int, int, int], verdict: str) -> None:
    facts = replace(FACTS, classes=(CAT, ClassFacts(name="dog", splits=sizes, before=100)))
    assert splits.split_sizes(facts, LIMITS, SPLIT).verdict == verdict


def test_a_split_without_a_share_needs_no_rows() -> None:
    facts = replace(FACTS, classes=(ClassFacts(name="cat", splits=(900, 0, 100), before=1000),))
    without = SplitConfig(train=0.9, validation=0.0, test=0.1)
    assert splits.split_sizes(facts, LIMITS, without).verdict == "pass"


def test_one_key_that_changed_splits_is_too_many() -> None:
    result = splits.split_moved(replace(FACTS, moved=Found(count=1, examples=("k (train → test)",))), LIMITS)
    assert result.verdict == "fail"
    assert "1 of 2,000 keys (0.05 %) moved to another split" in result.message


@pytest.mark.parametrize(("count", "verdict"), [(0, "pass"), (20, "warn"), (34, "warn"), (35, "fail")])
def test_changed_images_fail_when_surely_over_1_percent(count: int, verdict: str) -> None:
    assert splits.changed_images(replace(FACTS, changed_images=Found(count=count)), LIMITS).verdict == verdict


@pytest.mark.parametrize(("count", "verdict"), [(0, "pass"), (60, "warn"), (84, "warn"), (85, "fail")])
def test_near_duplicates_are_held_against_the_held_out_images(count: int, verdict: str) -> None:
    limits = LIMITS.model_copy(update={"max_near_duplicates": 0.1})
    assert splits.near_duplicates(replace(FACTS, near_duplicates=Found(count=count)), limits).verdict == verdict
