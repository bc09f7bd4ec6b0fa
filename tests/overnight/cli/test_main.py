"""The command itself: help, exit codes, one sentence for what a user can cause."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def overnight(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "overnight", *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_verb(tmp_path: Path) -> None:
    result = overnight("--help", cwd=tmp_path)
    assert result.returncode == 0
    for verb in ("import", "shards", "snapshot", "run", "model", "predict", "lineage", "report", "demo"):
        assert verb in result.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (("snapshot", "show"), {}, "no such environment file"),
        (("snapshot", "create", "--now", "tomorrow"), {"OVERNIGHT_CONFIG": "good.yaml"}, "2026-03-03T02:00:00Z"),
        (("demo", "--folder", "."), {}, "jobs/local.yaml"),
        (("run", "no.yaml"), {}, "no"),
        (("snapshot", "create", "--nwo", "x"), {}, "--now"),
        (("run",), {}, "overnight run --help"),
        (("shard", "build"), {}, "No such command 'shard'"),
        (("predict", "classifier", "a.jpg", "--top", "none"), {}, "--top"),
        (("import", "nowhere"), {"OVERNIGHT_CONFIG": "typo.yaml"}, "did you mean 'root'"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], says: str
) -> None:
    (tmp_path / "good.yaml").write_text("environment: local\nroot: data\n")
    (tmp_path / "typo.yaml").write_text("environment: local\nroots: data\n")
    result = overnight(*arguments, cwd=tmp_path, **environment)
    assert result.returncode == 2
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr
