"""The split is a function of salt and group, the same in Python and in SQL, with the shares asked for."""

from collections import Counter
from fractions import Fraction
from hashlib import sha256

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.config import SplitConfig
from overnight.labels.split import split_code, split_code_sql, split_rule

SHARES = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).filter(lambda pair: sum(pair) <= 1000)
GROUPS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), min_size=1, max_size=30)


def config(train: int, validation: int, salt: str = "overnight") -> SplitConfig:
    """Shares in thousandths."""
    return SplitConfig(
        salt=salt, train=train / 1000, validation=validation / 1000, test=(1000 - train - validation) / 1000
    )


@settings(max_examples=40, deadline=None)
@given(SHARES, st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8), GROUPS)
def test_python_and_sql_agree(shares: tuple[int, int], salt: str, groups: list[str]) -> None:
    rule = split_rule(config(*shares, salt=salt))
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE groups (name VARCHAR)")
        connection.executemany("INSERT INTO groups VALUES (?)", [(group,) for group in groups])
        found = connection.execute(f"SELECT name, {split_code_sql(rule, 'name')} FROM groups").fetchall()
    assert found == [(group, split_code(rule, group)) for group in groups]


@settings(deadline=None)
@given(SHARES, st.text(st.characters(exclude_categories=["Cs"])))
def test_the_split_is_what_the_formats_page_says(shares: tuple[int, int], group: str) -> None:
    train, validation = Fraction(shares[0], 1000), Fraction(shares[1], 1000)
    u = Fraction(int.from_bytes(sha256(f"overnight:{group}".encode()).digest()[:8], "big"), 2**64)
    expected = 0 if u < train else 1 if u < train + validation else 2
    assert split_code(split_rule(config(*shares)), group) == expected


def test_shares_come_out_as_asked() -> None:
    rule = split_rule(SplitConfig())
    counts = Counter(split_code(rule, f"group-{number}") for number in range(20_000))
    assert [counts[code] / 20_000 for code in range(3)] == pytest.approx([0.7, 0.1, 0.2], abs=0.01)


@pytest.mark.parametrize(("train", "validation", "code"), [(1000, 0, 0), (0, 1000, 1), (0, 0, 2)])
def test_a_share_of_1_takes_everything(train: int, validation: int, code: int) -> None:
    rule = split_rule(config(train, validation))
    assert {split_code(rule, str(number)) for number in range(500)} == {code}


def test_known_groups_stand_where_they_always_stood() -> None:
    """Changing this would move images between splits of every existing snapshot."""
    rule = split_rule(SplitConfig())
    assert [split_code(rule, group) for group in ("a", "abc", "1f44d", "ü", "cat/0002", "k3")] == [0, 1, 0, 0, 2, 2]
