import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.catalog.keys import assign, is_key

# A few characters of each kind, so that examples collide.
PART = st.text("aB7_-. ü", min_size=1, max_size=6)
SOURCES = st.lists(st.lists(PART, min_size=1, max_size=3).map("/".join), max_size=8)


def eight(source):
    return hashlib.sha256(source.encode()).hexdigest()[:8]


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ("cats/one.jpg", "cats/one"),
        ("cats/by-day/One_2.JPEG", "cats/by-day/One_2"),
        ("cats/no suffix", f"cats/no_suffix-{eight('cats/no suffix')}"),
        ("cats/plain", "cats/plain"),
        ("cats/1.2.jpg", f"cats/1_2-{eight('cats/1.2.jpg')}"),
        ("käse/ü.jpg", f"k_se/_-{eight('käse/ü.jpg')}"),
        ("c/" + "x" * 88 + ".jpg", "c/" + "x" * 88),
        ("c/" + "x" * 89 + ".jpg", "c/" + "x" * 79 + "-" + eight("c/" + "x" * 89 + ".jpg")),
    ],
)
def test_a_key_is_the_path_without_its_suffix_where_that_may_be_a_key(source, key):
    assert assign([source], {}) == {source: key}
    assert is_key(key)


def test_images_that_would_share_a_key_both_get_a_digest():
    keys = assign(["a/b.jpg", "a/b.png", "a/c.jpg"], {})
    assert keys == {
        "a/b.jpg": f"a/b-{eight('a/b.jpg')}",
        "a/b.png": f"a/b-{eight('a/b.png')}",
        "a/c.jpg": "a/c",
    }


def test_a_key_once_given_stays():
    week_1 = assign(["a/b.jpg"], {})
    week_2 = assign(["a/b.png", "a/b.jpg"], week_1)
    assert week_2 == {"a/b.jpg": "a/b", "a/b.png": f"a/b-{eight('a/b.png')}"}


@given(SOURCES, st.randoms())
def test_keys_are_valid_unique_and_independent_of_the_order(sources, random):
    keys = assign(sources, {})
    shuffled = sources[:]
    random.shuffle(shuffled)
    assert assign(shuffled, {}) == keys
    assert keys.keys() == set(sources)
    assert len(set(keys.values())) == len(keys)
    assert all(is_key(key) for key in keys.values())


@given(SOURCES, SOURCES)
def test_a_later_import_changes_no_key(first, second):
    known = assign(first, {})
    later = assign([*first, *second], known)
    assert {source: later[source] for source in known} == known
    assert len(set(later.values())) == len(later)
