"""Files are complete or absent, folders are published once, and one process holds a folder."""

import json
import multiprocessing
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.errors import OvernightError
from overnight.files import FolderInUse, canonical_json, locked, publishing, read_json, sha256_bytes, write_atomically

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(json_values)
def test_canonical_json_reads_back_and_is_the_same_text_twice(value: object) -> None:
    text = canonical_json(value)
    assert canonical_json(json.loads(text)) == text


def test_a_write_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.json"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]


def _write_with_little_room(path: Path) -> None:
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        write_atomically(path, b"x" * 100_000)
    except OSError:
        raise SystemExit(7) from None


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomically(path, b"old")
    process = multiprocessing.get_context("fork").Process(target=_write_with_little_room, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 7
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def _publish_and_fail(folder: Path) -> None:
    with publishing(folder) as temporary:
        (temporary / "part").write_text("half")
        (temporary / "nowhere" / "part").write_text("other half")


def test_a_folder_is_published_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots" / "one"
    with pytest.raises(FileNotFoundError):
        _publish_and_fail(folder)
    assert list(folder.parent.iterdir()) == []
    with publishing(folder) as temporary:
        (temporary / "part").write_text("whole")
    assert (folder / "part").read_text() == "whole"
    with pytest.raises(FileExistsError), publishing(folder):
        pass


def test_a_second_process_is_told_that_the_folder_is_in_use(tmp_path: Path) -> None:
    with (
        locked(tmp_path, "shard build"),
        pytest.raises(FolderInUse, match="another shard build is running"),
        locked(tmp_path, "shard build"),
    ):
        pass
    with locked(tmp_path, "shard build"):
        pass


@pytest.mark.parametrize(
    ("text", "says"), [(None, "missing"), ("{", "not JSON"), ("[]", "format"), ('{"format": "other/1"}', "other/1")]
)
def test_a_file_of_another_format_is_refused(tmp_path: Path, text: str | None, says: str) -> None:
    path = tmp_path / "manifest.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(OvernightError, match=says):
        read_json(path, "overnight.snapshot/1")


def test_a_digest_is_lower_case_sha256() -> None:
    assert sha256_bytes(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
