"""The registry's process, with a recorded one in its place that answers as a registry does."""

import http.server
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from overnight.builds.errors import BuildError
from overnight.builds.registry_process import ask, parse_local_host, serving

REGISTRY = """#!{python}
import http.server, json, sys
settings = json.load(open(sys.argv[2]))
print(json.dumps(sys.argv[1:]), flush=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
        self.end_headers()
        self.wfile.write(b"{{}}")
    def log_message(self, *args):
        pass
host, port = settings["http"]["addr"].split(":")
http.server.ThreadingHTTPServer((host, int(port)), Answer).serve_forever()
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(tools: Path, text: str) -> None:
    program = tools / "docker-registry"
    program.write_text(text.format(python=sys.executable))
    program.chmod(0o755)


@pytest.fixture
def port() -> int:
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        return int(server.server_address[1])


@pytest.fixture
def other() -> Iterator[int]:
    """A web server that is no registry."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


def test_a_registry_is_started_and_ends_with_the_block(tools: Path, tmp_path: Path, port: int) -> None:
    install(tools, REGISTRY)
    assert ask(port) == "nothing"
    with serving(f"localhost:{port}", tmp_path / "registry") as mine:
        assert mine
        assert ask(port) == "registry"
    assert ask(port) == "nothing"
    settings = tmp_path / "registry" / "registry.json"
    assert (tmp_path / "registry" / "registry.log").read_text() == f'["serve", "{settings}"]\n'


def test_it_ends_when_the_block_fails(tools: Path, tmp_path: Path, port: int) -> None:
    install(tools, REGISTRY)
    with pytest.raises(KeyboardInterrupt), serving(f"localhost:{port}", tmp_path / "registry"):
        raise KeyboardInterrupt
    assert ask(port) == "nothing"


def test_one_that_runs_is_used_and_stays(tools: Path, tmp_path: Path, port: int) -> None:
    install(tools, REGISTRY)
    with serving(f"localhost:{port}", tmp_path / "registry"):
        with serving(f"localhost:{port}", tmp_path / "other") as mine:
            assert not mine
        assert ask(port) == "registry"
    assert not (tmp_path / "other").exists()


def test_another_program_on_the_port_is_said_in_one_sentence(tools: Path, tmp_path: Path, other: int) -> None:
    install(tools, REGISTRY)
    with pytest.raises(BuildError) as refused, serving(f"localhost:{other}", tmp_path / "registry"):
        pytest.fail("it was not refused")
    assert refused.value.sentence == (
        f"localhost:{other}: another program than a registry has this port; stop it, or give --registry another."
    )


def test_without_the_program_it_is_named(tools: Path, tmp_path: Path, port: int) -> None:
    with pytest.raises(BuildError) as refused, serving(f"localhost:{port}", tmp_path / "registry"):
        pytest.fail("there is none")
    assert refused.value.sentence == (
        f"localhost:{port}: there is no registry program; "
        "install it with: apt-get install --no-install-recommends docker-registry."
    )


def test_a_program_that_ends_is_quoted(tools: Path, tmp_path: Path, port: int) -> None:
    install(tools, "#!{python}\nprint('first'); print('configuration error: no space'); raise SystemExit(1)\n")
    with pytest.raises(BuildError) as refused, serving(f"localhost:{port}", tmp_path / "registry"):
        pytest.fail("it ended")
    log = tmp_path / "registry" / "registry.log"
    assert refused.value.sentence == (
        f"localhost:{port}: the registry did not start (configuration error: no space); see {log}."
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may bind any port")
def test_a_port_for_root_only_is_refused(tools: Path, tmp_path: Path) -> None:
    install(tools, REGISTRY)
    with pytest.raises(BuildError), serving("localhost:81", tmp_path / "registry"):
        pytest.fail("it was not refused")


@pytest.mark.parametrize("host", ["localhost:5005", "127.0.0.1:1", "[::1]:65535"])
def test_ports_of_this_machine(host: str) -> None:
    assert parse_local_host(host) == int(host.rpartition(":")[2])


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:",
        "localhost:x",
        "localhost:0",
        "localhost:65536",
        "localhost:٣",
        "",
        ":5",
        "10.0.0.1:5005",
        "europe-west4-docker.pkg.dev",
        "localhost.example.com:5",
    ],
)
def test_other_machines_and_no_ports_are_refused(host: str) -> None:
    with pytest.raises(BuildError) as refused:
        parse_local_host(host)
    assert (
        refused.value.sentence == f"--registry: {host!r} is not a port of this machine; write it like localhost:5005."
    )
