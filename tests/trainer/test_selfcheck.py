"""What the build runs in the finished image: it passes here, and says in one sentence what does not work."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trainer import image, selfcheck
from trainer.command import fail_in_one_sentence
from trainer.files import canonical_json

CONTENTS = {
    "format": "overnight.image/1",
    "name": "trainer-cpu",
    "source": "https://example.com/team/code",
    "revision": "c0ffee",
    "cpu": "baseline",
}


@pytest.fixture(autouse=True)
def own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the self-check sets for itself is undone after each test."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of standard output, lines of standard error."""
    code = fail_in_one_sentence(selfcheck.main, arguments)
    said = capsys.readouterr()
    return code, said.out.splitlines(), said.err.splitlines()


def test_a_sound_installation_passes_without_a_trace(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "trainer.selfcheck", "--allow-root"]
    done = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    titles = [line.partition(":")[0] for line in lines[:-1]]
    assert titles == ["image", "user", "extension", "decoding", "training", "files"]
    assert lines[-1].startswith("6 checks passed in ")
    assert list(tmp_path.iterdir()) == []


def test_root_is_refused_unless_it_is_allowed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    sentence = "trainer: user: this runs as root; run the image as its own user, or allow it by --allow-root."
    code, _, said = run(capsys)
    assert (code, said) == (2, [sentence])
    monkeypatch.setattr(os, "geteuid", lambda: 10001)
    code, out, _ = run(capsys)
    assert code == 0
    assert "user: 10001, not root" in out


def test_the_image_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "image.json"
    path.write_bytes(canonical_json(CONTENTS))
    monkeypatch.setattr(image, "CONTENTS", path)
    code, out, _ = run(capsys, "--allow-root")
    assert code == 0
    assert out[0] == "image: trainer-cpu of commit c0ffee, for baseline, which this CPU has"


def test_a_cpu_that_lacks_something_is_told_before_the_extension_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "image.json"
    path.write_bytes(canonical_json({**CONTENTS, "cpu": "x86-64-v3"}))
    monkeypatch.setattr(image, "CONTENTS", path)
    monkeypatch.setattr(image, "cpu_flags", lambda: frozenset({*image.CPU_FEATURES["baseline"], "avx", "f16c"}))
    code, out, said = run(capsys, "--allow-root")
    assert (code, out) == (2, [])
    assert said == [
        "trainer: CPU: the extension was compiled for x86-64-v3 and this machine lacks "
        "abm, avx2, bmi1, bmi2, fma, movbe; take another machine type, or an image that is built for baseline."
    ]


def test_an_extension_that_does_not_load_is_one_sentence(tmp_path: Path) -> None:
    """A copy of the package whose extension is no library, as when a library that it needs is not in the image."""
    package = Path(selfcheck.__file__).parent
    copy = tmp_path / "trainer"
    copy.mkdir()
    for path in package.iterdir():
        if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__"):
            (copy / path.name).symlink_to(path)
    (copy / "_native.abi3.so").write_bytes(b"\x7fELF, not really")
    # Without the finder of the installed package, which would find the real one.
    script = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    script += "sys.meta_path[:] = [finder for finder in sys.meta_path if isinstance(finder, type)]; "
    script += "runpy.run_module('trainer.selfcheck', run_name='__main__', alter_sys=True)"
    command = [sys.executable, "-c", script, str(tmp_path), "--allow-root"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("trainer: extension: the native extension does not load (")
    assert line.endswith("); build the image again, and see that its libraries are in the runtime stage.")


def test_an_extension_that_decodes_otherwise_is_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded = selfcheck._decoded
    monkeypatch.setattr(selfcheck, "_decoded", lambda *given: decoded(*given) + np.float32(0.1 / 255))
    code, _, said = run(capsys, "--allow-root")
    assert code == 2
    assert said == [
        "trainer: decoding: the extension differs from the reference by 0.1 grey levels, at most 0.05 are right; "
        "build the image again with the libjpeg-turbo that the tests ran with."
    ]


def test_an_optimizer_that_does_not_move_the_weights_is_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self: None)
    code, _, said = run(capsys, "--allow-root")
    assert code == 2
    assert said[0].startswith("trainer: training: 8 steps took the loss from ")


def test_without_a_folder_that_can_be_written_the_remedy_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(prefix: str) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(selfcheck.tempfile, "TemporaryDirectory", refuse)
    code, out, said = run(capsys, "--allow-root")
    assert (code, out) == (2, [])
    assert said == [
        "trainer: files: no temporary folder can be written (Read-only file system); "
        "mount one: --tmpfs /tmp, or set TMPDIR."
    ]
