"""Which files a build is of, and what it is called."""

import os
from pathlib import Path

import pytest

from local_builds import git
from overnight.builds.errors import BuildError
from overnight.builds.workspace import copy_source, find_checkout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".gitignore").write_text("*.log\nout/\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "a.txt").write_text("a\n")
    (folder / "run").write_text("#!/bin/sh\n")
    (folder / "run").chmod(0o755)
    (folder / "link").symlink_to("sub/a.txt")
    (folder / "dangling").symlink_to("/nowhere")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def files(folder: Path) -> list[str]:
    found = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return sorted(str(path.relative_to(folder)) for path in found)


def test_the_copy_holds_what_git_sees(repository: Path, tmp_path: Path) -> None:
    (repository / "new file\n.txt").write_text("untracked")
    (repository / "x.log").write_text("ignored")
    (repository / "out").mkdir()
    (repository / "out" / "b").write_text("ignored")
    (repository / "sub" / "a.txt").write_text("changed\n")
    (repository / "run").chmod(0o700)
    copy_source(find_checkout(repository / "sub"), tmp_path / "copy")
    copy = tmp_path / "copy"
    assert files(copy) == sorted([".gitignore", "sub/a.txt", "run", "link", "dangling", "new file\n.txt"])
    assert (copy / "sub" / "a.txt").read_text() == "changed\n"
    assert (copy / "link").readlink() == Path("sub/a.txt")
    assert (copy / "dangling").readlink() == Path("/nowhere")
    assert [oct((copy / name).stat().st_mode & 0o777) for name in ("run", "sub/a.txt", "sub")] == [
        "0o755",
        "0o644",
        "0o755",
    ]


def test_files_removed_from_the_checkout_are_not_copied(repository: Path, tmp_path: Path) -> None:
    (repository / "sub" / "a.txt").unlink()
    copy_source(find_checkout(repository), tmp_path / "copy")
    assert files(tmp_path / "copy") == [".gitignore", "dangling", "link", "run"]


def test_names_that_are_no_utf_8_are_copied(repository: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff.bin")
    (repository / name).write_bytes(b"\x00")
    first = copy_source(find_checkout(repository), tmp_path / "one")
    assert (tmp_path / "one" / name).read_bytes() == b"\x00"
    assert copy_source(find_checkout(repository), tmp_path / "two") == first


def test_what_a_submodule_or_a_repository_inside_holds_stays_behind(repository: Path, tmp_path: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    (inner / "f").write_text("x")
    copy_source(find_checkout(repository), tmp_path / "copy")
    assert "inner/f" not in files(tmp_path / "copy")


def test_pipes_stay_behind(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    os.mkfifo(folder / "pipe")
    (folder / "f").write_text("x")
    copy_source(find_checkout(folder), tmp_path / "copy")
    assert files(tmp_path / "copy") == ["f"]


def test_folders_that_builds_write_to_are_no_source(repository: Path, tmp_path: Path) -> None:
    (repository / "data" / "registry").mkdir(parents=True)
    (repository / "data" / "registry" / "blob").write_text("x")
    (repository / "data" / "labels.csv").write_text("x")
    copy_source(find_checkout(repository), tmp_path / "copy", [repository / "data" / "registry"])
    assert {name for name in files(tmp_path / "copy") if name.startswith("data")} == {"data/labels.csv"}


@pytest.mark.parametrize("change", ["content", "mode", "link", "name", "new"])
def test_any_change_gives_another_content(repository: Path, tmp_path: Path, change: str) -> None:
    before = copy_source(find_checkout(repository), tmp_path / "one")
    match change:
        case "content":
            (repository / "run").write_text("#!/bin/bash\n")
        case "mode":
            (repository / "run").chmod(0o644)
        case "link":
            (repository / "link").unlink()
            (repository / "link").symlink_to("run")
        case "name":
            (repository / "run").rename(repository / "go")
        case "new":
            (repository / "more").write_text("")
    assert copy_source(find_checkout(repository), tmp_path / "two") != before


def test_dates_and_the_checkout_s_place_do_not_change_the_content(repository: Path, tmp_path: Path) -> None:
    before = copy_source(find_checkout(repository), tmp_path / "one")
    moved = repository.rename(tmp_path / "elsewhere")
    os.utime(moved / "run", (0, 0))
    assert copy_source(find_checkout(moved), tmp_path / "two") == before


def test_a_clean_checkout_is_its_commit(repository: Path) -> None:
    checkout = find_checkout(repository / "sub")
    assert (checkout.folder, checkout.commit) == (repository, git(repository, "rev-parse", "HEAD"))
    assert (checkout.dirty, checkout.branch) == (False, "main")


def test_an_untracked_file_makes_it_dirty_and_an_ignored_one_does_not(repository: Path) -> None:
    (repository / "x.log").write_text("")
    assert not find_checkout(repository).dirty
    (repository / "x.txt").write_text("")
    assert find_checkout(repository).dirty


def test_a_detached_head_has_no_branch(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "--detach")
    assert find_checkout(repository).branch == ""


def test_before_the_first_commit_there_is_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert (find_checkout(tmp_path).commit, find_checkout(tmp_path).dirty) == (None, True)


@pytest.mark.parametrize(
    ("remote", "source"),
    [
        ("https://user:secret@github.com/acme/vision.git", "https://github.com/acme/vision"),
        ("git@github.com:acme/vision.git", "https://github.com/acme/vision"),
        ("/srv/git/vision", "https://localhost{folder}"),
        (None, "https://localhost{folder}"),
    ],
)
def test_the_source_is_the_remote_s_address(repository: Path, remote: str | None, source: str) -> None:
    if remote is not None:
        git(repository, "remote", "add", "origin", remote)
    assert find_checkout(repository).source == source.format(folder=repository)


def test_outside_git_the_folder_is_copied_without_what_was_made_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    for name in (".venv/x", "__pycache__/x", "pkg/__pycache__/x", "node_modules/x", "build/x", ".cache/x", "pkg/a.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (folder / ".dockerignore").write_text("x")
    (folder / "linked").symlink_to("pkg")
    checkout = find_checkout(folder)
    assert (checkout.folder, checkout.commit, checkout.dirty) == (folder, None, True)
    copy_source(checkout, tmp_path / "copy")
    assert files(tmp_path / "copy") == [".dockerignore", "linked", "pkg/a.py"]


def test_a_repository_that_git_does_not_read_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(BuildError) as refused:
        find_checkout(tmp_path)
    assert refused.value.sentence.startswith(f"{tmp_path}: git does not read this repository (fatal: ")


def test_without_git_it_is_named(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(BuildError) as refused:
        find_checkout(repository)
    assert refused.value.sentence == "git is not installed; install it with: apt-get install git."
