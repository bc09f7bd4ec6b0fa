"""Files that are pinned: all of them or none, byte for byte."""

import os
import stat
from pathlib import Path

import pytest

from overnight.images import pin_files
from overnight.images.errors import ImageError

NAME = "europe-west4-docker.pkg.dev/acme/prod-images/steps"
NEW = f"sha256:{'a' * 64}"


def written(path: Path, data: bytes = f"image: {NAME}:v1\r\n# ü\tend".encode()) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def pin(*paths: Path) -> None:
    files = [pin_files.read(path) for path in pin_files.paths_of([str(path) for path in paths])]
    digests = dict.fromkeys(pin_files.references(files), NEW)
    pin_files.write([pin_files.pinned(file, digests) for file in files])


def test_a_file_is_written_as_it_was_but_for_the_digest(tmp_path):
    path = written(tmp_path / "a.yaml")
    path.chmod(0o750)
    pin(path)
    assert path.read_bytes() == f"image: {NAME}@{NEW}\r\n# ü\tend".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert [item.name for item in tmp_path.iterdir()] == ["a.yaml"]


def test_behind_a_link_the_file_itself_is_written(tmp_path):
    path = written(tmp_path / "real" / "a.yaml")
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    pin(link, path)
    assert link.is_symlink()
    assert NEW in path.read_text()


def test_patterns_name_files_once_and_in_order(tmp_path):
    for name in ("b.yaml", "a.yaml", "deep/er/c.yaml", "x[1].yaml"):
        written(tmp_path / name)
    words = [f"{tmp_path}/*.yaml", f"{tmp_path}/a.yaml", f"{tmp_path}/**/c.yaml", f"{tmp_path}/x[1].yaml"]
    found = pin_files.paths_of(words)
    assert [path.name for path in found] == ["a.yaml", "b.yaml", "x[1].yaml", "c.yaml"]


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.yaml", b"", "a.yaml: this file is empty; name a YAML file."),
        ("a.yaml", b"\xff\xfe\x00a", "a.yaml: this is not UTF-8 text; name a YAML file."),
        ("a.yaml", bytes(range(256)), "a.yaml: this is not UTF-8 text; name a YAML file."),
        ("a.yaml", b"\x00\x01\x02", "a.yaml: this is not YAML: "),
        ("a.yaml", "image: ghcr.io/a/b:1\n".encode("utf-16"), "a.yaml: this is not UTF-8 text; name a YAML file."),
        ("a.yaml", b"\x7fELF\x02\x01", "a.yaml: this is not YAML: "),
        ("a.yaml", b"%PDF-1.7\n", "a.yaml: this is not YAML: "),
    ],
)
def test_what_is_no_yaml_changes_no_file(tmp_path, name, data, says):
    good = written(tmp_path / "0.yaml")
    before = good.read_bytes()
    with pytest.raises(ImageError) as error:
        pin(good, written(tmp_path / name, data))
    assert says in error.value.sentence
    assert good.read_bytes() == before


def test_a_missing_file_a_folder_and_a_pattern_without_files_are_refused(tmp_path):
    for word, says in [
        (tmp_path / "none.yaml", "none.yaml: there is no such file; name YAML files, such as jobs/*.yaml."),
        (tmp_path, f"{tmp_path}: this is a folder; name its files: {tmp_path}/*.yaml."),
        (tmp_path / "*.yml", f"{tmp_path}/*.yml: no file fits this pattern; name YAML files, such as jobs/*.yaml."),
    ]:
        with pytest.raises(ImageError) as error:
            pin(word)
        assert error.value.sentence.endswith(says)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(ImageError, match="this is no file"):
        pin(tmp_path / "pipe.yaml")


def test_a_circle_of_links_is_refused(tmp_path):
    (tmp_path / "a.yaml").symlink_to(tmp_path / "a.yaml")
    with pytest.raises(ImageError, match=r"a\.yaml: "):
        pin(tmp_path / "a.yaml")


def test_one_read_only_file_keeps_all_as_they_are(tmp_path):
    first, second = written(tmp_path / "a.yaml"), written(tmp_path / "b.yaml")
    second.chmod(0o444)
    before = first.read_bytes()
    with pytest.raises(ImageError, match=r"b\.yaml: this file is read-only; make it writable\."):
        pin(first, second)
    assert first.read_bytes() == before


def test_the_diff_shows_lines_as_they_end(tmp_path):
    path = written(tmp_path / "a.yaml", f"a: 1\nimage: {NAME}:v1".encode())
    before = pin_files.read(path)
    after = pin_files.pinned(before, dict.fromkeys(pin_files.references([before]), NEW))
    assert pin_files.diff(before, after) == (
        f"--- {path}\n+++ {path}\n@@ -1,2 +1,2 @@\n a: 1\n-image: {NAME}:v1\n\\ No newline at end of file\n"
        f"+image: {NAME}@{NEW}\n\\ No newline at end of file\n"
    )
    assert pin_files.diff(before, before) == ""
