import json
import os

import pytest


@pytest.fixture
def said(command):
    """The one sentence of an import that fails with exit code 2."""

    def run(*arguments):
        code, out, err = command(*arguments)
        assert (code, out) == (2, "")
        (sentence,) = err.splitlines()
        assert sentence.startswith("overnight: ")
        return sentence.removeprefix("overnight: ")

    return run


def test_an_import_shows_its_classes(place, command):
    for source in ("cats/a.jpg", "cats/b.jpg", "dogs/c.jpg", "readme.md"):
        place.put(source)
    code, out, err = command(place.pictures)
    assert (code, err) == (0, "")
    assert "│ cats  │      2 │" in out
    assert "3 new, 0 changed" in out
    assert "Left out, in no class folder: 1 (readme.md)." in out


def test_an_import_says_the_same_in_json(place, command):
    for source in ("cats/a.jpg", "dogs/b-1.jpg", "dogs/b-2.jpg"):
        place.put(source)
    value = json.loads(command(place.pictures, "--group-pattern", r"(b)-\d", "--json")[1])
    assert value["classes"] == {"cats": 1, "dogs": 2}
    assert value["labels"] == {"inserted": 3, "kept": 0, "updated": 0}
    assert [group for _, _, group in place.labels()] == [None, "b", "b"]


def test_a_wrong_path_is_one_sentence(place, said):
    assert said(place.base / "none") == f"{place.base}/none: there is no such file or folder; check the path."


def test_a_folder_without_class_folders_is_one_sentence(place, said):
    place.pictures.mkdir()
    assert "this folder is empty; give a folder with one folder a class" in said(place.pictures)
    place.put("a.jpg")
    assert "all files stand directly in this folder; give a folder" in said(place.pictures)


def test_a_file_of_another_kind_is_one_sentence(place, said):
    assert "this is neither a folder nor a table" in said(place.put("cats/a.jpg"))
    assert "this goes with a table only" in said(place.pictures, "--images", place.pictures)


def test_an_unreadable_file_is_one_sentence(place, said):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    place.put("cats/a.jpg")
    place.put("dogs/b.jpg").chmod(0)
    assert "dogs/b.jpg: this image cannot be read (permission denied)" in said(place.pictures)
    assert not (place.base / "data" / "labels.duckdb").exists()


def test_an_unreadable_folder_is_one_sentence(place, said):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    place.put("cats/a.jpg")
    place.put("dogs/b.jpg").parent.chmod(0)
    assert "permission denied; give this user permission" in said(place.pictures)


def test_a_name_that_is_not_text_is_one_sentence(place, said):
    place.put("cats/a.jpg")
    with open(os.fsencode(place.pictures) + b"/cats/\xff.jpg", "wb"):  # noqa: PTH123  (pathlib takes no bytes)
        pass
    assert "is not UTF-8; rename the file or folder" in said(place.pictures)
