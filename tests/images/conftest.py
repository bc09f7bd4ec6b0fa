"""One house for all tests of images: bases and images are made once."""

import os
import platform
import shutil
import socket
from collections.abc import Iterator

import pytest

from image_house import CONFIG, House, command_environment, committed_copy
from overnight.builds.containers import missing_tools
from overnight.builds.registry_process import serving
from support import draw_folder

TIMES: dict[str, float] = {}
"""How long each part took, for the end of the report."""


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With a registry that answers as long as the tests run, and drawn pictures in shards and a snapshot."""
    if missing := [*missing_tools(), *(["mmdebstrap"] if shutil.which("mmdebstrap") is None else [])]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if os.geteuid() != 0 or platform.machine() != "x86_64":
        pytest.skip("stand-ins for the base images are made by root on x86-64 only")
    folder = tmp_path_factory.mktemp("house")
    (folder / "environment.yaml").write_text(CONFIG)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = House(folder, committed_copy(folder / "checkout"), f"localhost:{port}", command_environment(folder))
    with serving(made.registry, made.root / "registry"):
        draw_folder(folder / "pictures", 40)
        for arguments in (("import", "pictures"), ("shards", "build"), ("snapshot", "create")):
            made.run(*arguments)
        yield made
    TIMES.update(made.seconds)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What a session spent its time on."""
    for what, seconds in TIMES.items():
        terminalreporter.write_line(f"{what:<48}{seconds:7.1f} s")
