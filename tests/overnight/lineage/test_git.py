import pytest

from overnight.lineage.git import git_state, has_commit, without_credentials


@pytest.fixture
def checkout(tmp_path, git):
    git(tmp_path, "init", "-q")
    (tmp_path / "code.py").write_text("x = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_a_clean_checkout_is_its_commit(checkout, git):
    state = git_state(checkout)
    assert state.commit == git(checkout, "rev-parse", "HEAD")
    assert (state.dirty, state.repository) == (False, None)
    assert has_commit(checkout, state.commit)
    assert not has_commit(checkout, "0" * 40)


@pytest.mark.parametrize("name", ["code.py", "new.py"])
def test_a_changed_or_new_file_makes_it_dirty(name, checkout):
    (checkout / name).write_text("x = 2\n")
    assert git_state(checkout).dirty


def test_a_folder_inside_counts_as_the_checkout(checkout):
    (checkout / "inner").mkdir()
    assert git_state(checkout / "inner") is not None


def test_outside_a_checkout_or_before_a_commit_there_is_no_state(tmp_path, git):
    assert git_state(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert git_state(tmp_path) is None


def test_without_git_there_is_no_state(checkout, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert git_state(checkout) is None


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://user:token@host/a.git", "https://host/a.git"),
        ("https://token@host/a.git", "https://host/a.git"),
        ("https://host/a.git", "https://host/a.git"),
        ("git@host:a.git", "git@host:a.git"),
        ("ssh://git@host/a@b.git", "ssh://host/a@b.git"),
        ("/srv/a@b.git", "/srv/a@b.git"),
    ],
)
def test_no_credential_of_a_remote_is_kept(address, expected):
    assert without_credentials(address) == expected
