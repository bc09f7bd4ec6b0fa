import json
import os
import subprocess
import sys

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


@pytest.fixture
def said_without_privilege(place):
    """As `said`, in a process that may not read everything although the tests may run as root."""

    def run(*arguments):
        import_command = [sys.executable, "-m", "overnight", "import", *map(str, arguments), "--config", place.config]
        if os.geteuid() == 0:
            held_back = "-dac_override,-dac_read_search"
            import_command = ["setpriv", f"--bounding-set={held_back}", f"--inh-caps={held_back}", *import_command]
        result = subprocess.run(import_command, capture_output=True, text=True, check=False)
        assert (result.returncode, result.stdout) == (2, "")
        (sentence,) = result.stderr.splitlines()
        return sentence.removeprefix("overnight: ")

    return run


def test_an_unreadable_file_is_one_sentence(place, said_without_privilege):
    place.put("cats/a.jpg")
    place.put("dogs/b.jpg").chmod(0)
    assert "dogs/b.jpg: this image cannot be read (permission denied)" in said_without_privilege(place.pictures)
    assert not (place.base / "data" / "labels.duckdb").exists()


def test_an_unreadable_folder_is_one_sentence(place, said_without_privilege):
    place.put("cats/a.jpg")
    folder = place.put("dogs/b.jpg").parent
    folder.chmod(0)
    assert "permission denied; give this user permission" in said_without_privilege(place.pictures)
    folder.chmod(0o755)


def test_a_name_that_is_not_text_is_one_sentence(place, said):
    place.put("cats/a.jpg")
    with open(os.fsencode(place.pictures) + b"/cats/\xff.jpg", "wb"):  # noqa: PTH123  (pathlib takes no bytes)
        pass
    assert "is not UTF-8; rename the file or folder" in said(place.pictures)
