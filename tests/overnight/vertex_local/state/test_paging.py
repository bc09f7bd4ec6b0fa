import pytest
from google.cloud import aiplatform_v1 as v1
from hypothesis import given
from hypothesis import strategies as st

from overnight.vertex_local.api.errors import ApiError
from overnight.vertex_local.state.paging import page


def rows(*names):
    return [(number, v1.CustomJob.pb(v1.CustomJob(display_name=name))) for number, name in enumerate(names)]


def names(messages):
    return [message.display_name for message in messages]


def everything(of, order_by, size):
    """All pages, with a message coming and one going between any two."""
    found, token, left = [], "", list(of)
    while True:
        shown, token = page(left, order_by, size, token, "")
        found += names(shown)
        if not token:
            return found
        left = [row for row in left if row[1] is not shown[0]]


def test_the_newest_come_first():
    assert names(page(rows("a", "b", "c"), "", 0, "", "")[0]) == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("order_by", "expected"),
    [
        ("display_name", ["a", "b", "c"]),
        ("display_name desc", ["c", "b", "a"]),
        ("state, display_name asc", ["a", "b", "c"]),
        ("create_time", ["b", "c", "a"]),
    ],
)
def test_order_by_is_followed(order_by, expected):
    assert names(page(rows("b", "c", "a"), order_by, 0, "", "")[0]) == expected


@given(
    st.lists(st.sampled_from("abc"), max_size=12),
    st.sampled_from(["", "display_name", "display_name desc"]),
    st.integers(1, 5),
)
def test_pages_together_are_the_list_also_when_shown_messages_go(listed, order_by, size):
    whole = names(page(rows(*listed), order_by, 1000, "", "")[0])
    assert everything(rows(*listed), order_by, size) == whole


def test_a_new_message_does_not_shift_the_next_page():
    old = rows("a", "b", "c", "d")
    first, token = page(old, "", 2, "", "")
    second, end = page([*old, *[(9, old[0][1])]], "", 2, token, "")
    assert (names(first), names(second), end) == (["d", "c"], ["b", "a"], "")


def test_the_last_page_has_no_token():
    assert page(rows("a", "b"), "", 2, "", "")[1] == ""
    assert page([], "", 2, "", "") == ([], "")


@pytest.mark.parametrize("token", ["x", "bm9uZQ==", "WzFd"])
def test_a_token_that_is_none_is_refused(token):
    with pytest.raises(ApiError):
        page(rows("a"), "", 1, token, "")


def test_a_token_of_another_request_is_refused():
    token = page(rows("a", "b"), "", 1, "", "one filter")[1]
    with pytest.raises(ApiError):
        page(rows("a", "b"), "", 1, token, "another filter")
    with pytest.raises(ApiError):
        page(rows("a", "b"), "display_name", 1, token, "one filter")


@pytest.mark.parametrize("order_by", ["nothing", "display_name up", "labels", "job_spec"])
def test_an_order_that_cannot_be_is_refused(order_by):
    with pytest.raises(ApiError):
        page([(1, v1.CustomJob.pb(v1.CustomJob(job_spec={"network": "x"})))], order_by, 1, "", "")


def test_a_negative_page_size_is_refused():
    with pytest.raises(ApiError):
        page(rows("a"), "", -1, "", "")
