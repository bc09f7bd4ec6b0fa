"""How the emulated provider starts, serves and ends."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from terraform import launch
from terraform.workspace import Workspace

ALIVE = """
import json, os, sys, time
from pathlib import Path
from terraform import launch
with launch.warm(Path(sys.argv[1]), schemas=Path(sys.argv[2])) as environment:
    print(json.loads(environment["TF_REATTACH_PROVIDERS"])["hashicorp/google"]["Pid"], flush=True)
    time.sleep(60)
"""


def is_running(process: int) -> bool:
    try:
        # A process that nobody has waited for is dead all the same.
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_one_process_serves_both_providers_and_ends_with_the_block(schemas: Path, tmp_path: Path) -> None:
    with launch.warm(tmp_path / "cloud.json", schemas=schemas) as environment:
        served = json.loads(environment["TF_REATTACH_PROVIDERS"])
        assert set(served) == {"hashicorp/google", "hashicorp/google-beta"}
        (process,) = {each["Pid"] for each in served.values()}
        assert is_running(process)
        sockets = [Path(each["Addr"]["String"]) for each in served.values()]
        assert all(socket.exists() for socket in sockets)
    assert not is_running(process)
    assert not any(socket.parent.exists() for socket in sockets)


def test_a_killed_test_run_leaves_no_orphan(schemas: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(launch.HERE.parent)}
    command = [sys.executable, "-c", ALIVE, str(tmp_path / "cloud.json"), str(schemas)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        emulator = int(parent.stdout.readline())
        assert is_running(emulator)
        parent.kill()
    deadline = time.monotonic() + 10
    while is_running(emulator) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(emulator)


def test_a_mirror_serves_a_terraform_that_knows_of_no_emulator(
    schemas: Path, tmp_path: Path, configuration: dict[str, object]
) -> None:
    cloud = tmp_path / "cloud.json"
    stack = Workspace(tmp_path, cloud, launch.mirror(tmp_path / "mirror", cloud))
    stack.write(configuration)
    assert "Installed hashicorp/google-beta v8.7.0" in stack.terraform("init")
    assert "23 added" in stack.apply()


def test_the_schemas_are_made_once(schemas: Path) -> None:
    before = schemas.stat()
    assert launch.schema_file(schemas.parent) == schemas
    assert schemas.stat() == before


def test_a_missing_environment_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OVERNIGHT_EMULATOR_PYTHON", str(tmp_path / "python"))
    assert launch.emulator_python() is None
    assert launch.missing() is not None
