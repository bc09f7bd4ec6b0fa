from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.vertex_local.logs import Follower, last_lines


@settings(max_examples=50, deadline=None)
@given(pieces=st.lists(st.text(st.characters(codec="ascii", exclude_characters="\r\x0b\x0c\x1c\x1d\x1e"), max_size=12)))
def test_a_file_written_in_any_pieces_gives_its_lines(pieces, tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "log"
    follower = Follower(path)
    found = []
    for piece in pieces:
        with path.open("a", newline="") as file:
            file.write(piece)
        found += follower.lines()
    found += follower.lines(final=True)
    text = "".join(pieces)
    assert found == text.removesuffix("\n").split("\n") if text else found == []


def test_what_was_there_before_is_not_told_again(tmp_path):
    path = tmp_path / "log"
    path.write_text("old\n")
    follower = Follower(path)
    with path.open("a") as file:
        file.write("new\n")
    assert follower.lines() == ["new"]


@pytest.mark.parametrize(("text", "expected"), [("", ()), ("a\n\nb\n", ("a", "b")), ("a\nb\nc", ("b", "c"))])
def test_the_last_lines_are_those_that_say_something(text, expected, tmp_path):
    (tmp_path / "log").write_text(text)
    assert last_lines(tmp_path / "log", 2) == expected


def test_a_log_that_was_never_written_has_no_lines():
    assert last_lines(Path("/nonexistent/log"), 3) == ()
