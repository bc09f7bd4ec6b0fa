"""Near-duplicates: every pair within the distance is found, blank pictures are left out, none meets by a flat half."""

import random

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.labels.near_duplicates import masks, near_duplicates

HASHES = st.integers(1, 2**64 - 2)


def found(hashes: list[tuple[int, int]], distance: int) -> int:
    """Held-out images found among (split, phash)."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE live (pos BIGINT, split UTINYINT, phash UBIGINT)")
        connection.execute("CREATE TABLE images (pos BIGINT, key VARCHAR)")
        for position, (split, phash) in enumerate(hashes):
            connection.execute("INSERT INTO live VALUES (?, ?, ?)", [position, split, phash])
            connection.execute("INSERT INTO images VALUES (?, ?)", [position, f"key-{position}"])
        return near_duplicates(connection, distance).count


def compared_one_by_one(hashes: list[tuple[int, int]], distance: int) -> int:
    """The same by comparing every pair."""
    train = [phash for split, phash in hashes if split == 0]
    return sum(any((phash ^ other).bit_count() <= distance for other in train) for split, phash in hashes if split)


def flipped(phash: int, bits: set[int]) -> int:
    for bit in bits:
        phash ^= 1 << bit
    return phash


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2), st.lists(st.tuples(HASHES, st.sets(st.integers(0, 63), max_size=4)), max_size=8))
def test_no_pair_is_missed_and_none_invented(distance: int, pairs: list[tuple[int, set[int]]]) -> None:
    train = [(0, phash) for phash, _ in pairs]
    held = [(1 + number % 2, flipped(phash, bits)) for number, (phash, bits) in enumerate(pairs)]
    hashes = [(split, phash) for split, phash in train + held if phash not in (0, 2**64 - 1)]
    assert found(hashes, distance) == compared_one_by_one(hashes, distance)


@pytest.mark.parametrize("distance", [0, 1, 2])
def test_any_few_bits_leave_one_mask_untouched(distance: int) -> None:
    draw = random.Random(distance)
    for _ in range(2000):
        difference = flipped(0, set(draw.sample(range(64), distance)))
        assert any(difference & mask == 0 for mask in masks(distance))


def test_blank_pictures_are_no_likeness() -> None:
    assert found([(0, 0), (1, 0), (0, 2**64 - 1), (2, 2**64 - 1)], 1) == 0


def test_many_images_of_one_picture_are_counted_but_compared_once() -> None:
    assert found([(0, 77)] * 30 + [(1, 77)] * 20, 1) == 20
