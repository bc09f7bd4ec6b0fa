import pytest

from overnight.files import sha256_file
from overnight.lineage.tree import Node, all_problems, content_problems, digest_problems, size_problems


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    return path


def test_a_file_as_recorded_has_no_problem(file):
    assert digest_problems(file, sha256_file(file)) == ()
    assert size_problems(file, 3) == ()
    assert content_problems(file, 3, sha256_file(file), deep=True) == ()


def test_sizes_and_digests_are_told_as_recorded_and_found(file):
    assert size_problems(file, 4) == (f"{file} was altered: recorded 4 bytes, found 3 bytes.",)
    assert digest_problems(file, "0" * 64)[0].startswith(f"{file} was altered: recorded sha256 000000000000")


def test_a_changed_byte_shows_in_deep_only(file):
    assert content_problems(file, 3, "0" * 64, deep=False) == ()
    assert len(content_problems(file, 3, "0" * 64, deep=True)) == 1


def test_a_folder_in_a_files_place_is_a_missing_file(tmp_path):
    assert size_problems(tmp_path, 1) == (f"{tmp_path} is missing.",)


def test_problems_are_told_from_the_top_down():
    leaf = Node("tar", "x", problems=("c",))
    tree = Node("run", "r", problems=("a",), children=(Node("set", "s", problems=("b",), children=(leaf,)), leaf))
    assert list(all_problems(tree)) == ["a", "b", "c", "c"]
