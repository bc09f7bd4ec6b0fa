"""A registry on this machine: Debian's docker-registry on a port of loopback, its files in a folder."""

import contextlib
import ctypes
import http.client
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from overnight.builds.errors import BuildError
from overnight.files import canonical_json, write_atomically
from overnight.images.local import is_loopback

COMMANDS = ("docker-registry", "registry")
"""Debian's name of the distribution project's registry, and the project's own."""
READY_SECONDS = 15.0
STOP_SECONDS = 5.0
ANSWER_SECONDS = 3.0
_PR_SET_PDEATHSIG = 1  # prctl(2)
_libc = ctypes.CDLL(None, use_errno=True)

Answer = Literal["registry", "other", "nothing"]


def parse_local_host(host: str) -> int:
    """The port of `localhost:PORT`. Raises BuildError for a host that is not this machine's."""
    name, _, port = host.rpartition(":")
    if not name or not is_loopback(host) or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise BuildError(
            f"{host!r} is not a port of this machine", where="--registry", remedy="write it like localhost:5005"
        )
    return int(port)


def ask(port: int) -> Answer:
    """Who answers on a port of 127.0.0.1."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/v2/")
        response = connection.getresponse()
        response.read(1024)
    except ConnectionRefusedError:
        return "nothing"
    except (OSError, http.client.HTTPException):
        return "other"
    finally:
        connection.close()
    # Distribution specification, "Determining Support": 200, or 401 with a challenge.
    header = response.getheader("Docker-Distribution-Api-Version") or ""
    known = header.startswith("registry/2") or (response.getheader("Content-Type") or "").startswith("application/json")
    return "registry" if response.status in (200, 401) and known else "other"


@contextlib.contextmanager
def serving(host: str, folder: Path) -> Iterator[bool]:
    """See that a registry answers at `localhost:PORT` while the block runs; yields whether it was started here.

    Its files stand in `folder`. One that answers already is used and stays. Raises BuildError when something else has
    the port.
    """
    port = parse_local_host(host)
    answer = ask(port)
    if answer == "other":
        raise BuildError(
            "another program than a registry has this port", where=host, remedy="stop it, or give --registry another"
        )
    if answer == "registry":
        yield False
        return
    with _started(port, folder.absolute(), host) as mine:
        yield mine


@contextlib.contextmanager
def _started(port: int, folder: Path, host: str) -> Iterator[bool]:
    program = next((found for name in COMMANDS if (found := shutil.which(name))), None)
    if program is None:
        raise BuildError(
            "there is no registry program",
            where=host,
            remedy="install it with: apt-get install --no-install-recommends docker-registry",
        )
    settings, log = folder / "registry.json", folder / "registry.log"
    write_atomically(settings, canonical_json(_settings(port, folder)))
    with log.open("wb") as output:
        # preexec_fn: started before there are threads. Its own session: Ctrl-C is for the build, which still needs it.
        process = subprocess.Popen(
            [program, "serve", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "OTEL_TRACES_EXPORTER": "none"},
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    try:
        yield _wait(process, port, log)
    finally:
        _stop(process)


def _settings(port: int, folder: Path) -> dict[str, object]:
    """JSON is YAML."""
    return {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(folder / "blobs")}, "delete": {"enabled": True}},
        "http": {"addr": f"127.0.0.1:{port}"},
    }


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> bool:
    """True once it answers; False when it ended because someone else's registry was faster."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            if ask(port) == "registry":
                return False
            said = log.read_text(errors="replace").strip().splitlines()
            reason = said[-1][-300:] if said else f"code {process.returncode}"
            raise BuildError(f"the registry did not start ({reason})", where=f"localhost:{port}", remedy=f"see {log}")
        if ask(port) == "registry":
            return True
        time.sleep(0.05)
    raise BuildError("the registry does not answer", where=f"localhost:{port}", remedy=f"see {log}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
