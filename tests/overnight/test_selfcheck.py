"""What the build runs in the finished image of steps: it passes here, and says in one sentence what does not work."""

import logging
import os
import re
import subprocess
import sys

import pytest

from overnight import selfcheck
from overnight.files import canonical_json


@pytest.fixture(autouse=True)
def loud_again():
    """The self-check silences warnings of this process."""
    yield
    logging.disable(logging.NOTSET)


def run(capsys, *arguments):
    """Exit code, lines of standard output, lines of standard error."""
    code = selfcheck.main(arguments)
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err.splitlines()


def test_a_sound_installation_passes_in_seconds_without_a_trace(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GOOGLE_", "OVERNIGHT_"))}
    environment |= {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "overnight.selfcheck", "--allow-root"]
    done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    titles = [line.partition(":")[0] for line in lines[:-1]]
    assert titles == ["image", "user", "libraries", "policies", "job check", "snapshot"]
    assert re.fullmatch("snapshot: 20260302-[0-9a-f]{12} of 120 generated pictures", lines[5])
    assert list(tmp_path.iterdir()) == []


def test_root_is_refused_unless_it_is_allowed(capsys, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    sentence = "overnight: user: this runs as root; run the image as its own user, or allow it by --allow-root."
    code, _, said = run(capsys)
    assert (code, said) == (2, [sentence])
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    monkeypatch.setattr(selfcheck, "LIBRARIES", {"no_such_library": "x"})
    assert run(capsys)[1][1] == "user: 10001, not root"


@pytest.mark.parametrize(
    ("libraries", "words"),
    [
        ({"no_such_library": "x"}, "No module named 'no_such_library'"),
        ({"json": "no_such_name"}, "module 'json' has no attribute 'no_such_name'"),
    ],
)
def test_a_library_that_is_missing_is_one_sentence(libraries, words, capsys, monkeypatch):
    monkeypatch.setattr(selfcheck, "LIBRARIES", libraries)
    code, _, said = run(capsys, "--allow-root")
    assert (code, said) == (2, [f"overnight: libraries: {words}; build the image again from its lock."])


@pytest.mark.parametrize(
    ("content", "code", "words"),
    [
        (canonical_json({"format": "overnight.image/1", "name": "steps", "revision": "c0ffee", "cpu": None}), 2, ""),
        (b"{", 2, "image.json: this is not JSON"),
    ],
)
def test_the_image_is_named(content, code, words, tmp_path, capsys, monkeypatch):
    path = tmp_path / "image.json"
    path.write_bytes(content)
    monkeypatch.setattr(selfcheck, "CONTENTS", path)
    monkeypatch.setattr(selfcheck, "LIBRARIES", {"no_such_library": "x"})
    found, out, said = run(capsys, "--allow-root")
    assert found == code
    assert words in said[0]
    assert words or out[0] == "image: steps of commit c0ffee"


def test_a_check_that_finds_fault_with_a_sound_spec_is_told(capsys, monkeypatch):
    broken = selfcheck.SPEC.replace("acceleratorCount: 1", "acceleratorCount: 3")
    assert broken != selfcheck.SPEC
    monkeypatch.setattr(selfcheck, "SPEC", broken)
    monkeypatch.setattr(selfcheck, "LIBRARIES", {})
    code, _, said = run(capsys, "--allow-root")
    assert code == 2
    assert said[0].startswith("overnight: job check: a sound spec breaks accelerator-count: ")


def test_labels_that_are_rejected_are_told_with_the_same_exit_code(capsys, monkeypatch):
    monkeypatch.setattr(selfcheck, "LIBRARIES", {})
    monkeypatch.setattr(selfcheck, "IMAGES_PER_CLASS", 3)
    code, _, said = run(capsys, "--allow-root")
    assert code == 2
    assert "checks failed (row_count)" in said[0]
