"""`overnight image` as it is typed, in a folder with a copy of the job specs."""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from overnight.cli import main

ROOT = Path(__file__).parents[1]
REPOSITORY = "us-central1-docker.pkg.dev/acme-vision-prod/example-images"
NEW, OTHER = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
SOURCE = "https://github.com/acme/vision"
BUILD = "0f3c2a1b-7d5e-4a9c-8b1d-2e4f6a8c0d1e"


def release_of(*names: str, repository: str = REPOSITORY) -> list[str]:
    return [part for name in names for part in ("--image", f"{name}={repository}/{name}@{NEW}")]


HEAD = ("release", "--commit", COMMIT, "--source", f"{SOURCE}.git", "--build-id", BUILD)


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture
def image(tmp_path, monkeypatch, capsys):
    """Runs `overnight image ARGUMENTS` in a folder with a copy of the job specs, in this process."""
    shutil.copytree(ROOT / "jobs", tmp_path / "jobs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OVERNIGHT_CONFIG", raising=False)
    monkeypatch.delenv("BUILDER_OUTPUT", raising=False)

    def typed(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["overnight", "image", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return Done(end.value.code or 0, output.out, output.err)

    return typed
