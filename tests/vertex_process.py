"""A local Vertex AI as a process of its own, and a program that uses Google's SDK against it as another."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from overnight.vertex_local.engine.job_files import JobFiles
from overnight.vertex_local.server import read_addresses
from support import overnight

PROJECT, NUMBER = "acme-vision-prod", "481516234207"
"""Those of config/example.yaml."""
REGION = "us-central1"
PARENT = f"projects/{PROJECT}/locations/{REGION}"
PROGRAM = Path(__file__).with_name("vertex_user.py")


@dataclass(frozen=True)
class Served:
    """A running `overnight vertex serve`."""

    folder: Path
    addresses: dict[str, Any]

    @property
    def rest(self) -> str:
        """`http://127.0.0.1:PORT`"""
        return str(self.addresses["rest"])

    def bucket(self, path: str) -> Path:
        """Where `gs://PATH` lies."""
        return self.folder / "gcs" / path

    def command(self, *arguments: str) -> str:
        """What `overnight vertex ARGUMENTS` says about this server."""
        return overnight(
            "vertex", *arguments, "--folder", str(self.folder), cwd=self.folder, environment={**os.environ}
        ).stdout

    def message(self, name: str) -> dict[str, Any]:
        """A resource, as REST answers."""
        with urllib.request.urlopen(f"{self.rest}/v1/{name}", timeout=30) as answer:
            return dict(json.load(answer))

    def states(self, name: str) -> list[str]:
        """Every state that a job was in, by the record in the server's folder."""
        reached = ["QUEUED"]
        for event in JobFiles(self.folder / "jobs").events(name):
            state = "PENDING" if event.kind == "launch" else event.state
            if state and state != reached[-1]:
                reached.append(str(state))
        return reached

    def log(self, name: str) -> str:
        """What a job's replicas wrote, for the message of a failed test."""
        entries = JobFiles(self.folder / "jobs").read_log(name).entries
        return "\n".join(f"{entry.replica} {entry.message}" for entry in entries)


@contextmanager
def served(folder: Path, *options: str, environment: dict[str, str] | None = None) -> Iterator[Served]:
    """Serve on free ports until the block ends; the process is gone afterwards, however it ended."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "overnight", "vertex", "serve", "--folder", str(folder)]
    command += ["--grpc-port", "0", "--tls-port", "0", "--rest-port", "0"]
    command += ["--project", PROJECT, "--project-number", NUMBER, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline() for _ in range(5)][-1].startswith("Folder")
            yield Served(folder, read_addresses(folder))
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0
        finally:
            process.kill()


class User:
    """A run of vertex_user.py; what it prints are JSON objects, one a line. A context manager."""

    def __init__(self, vertex: Served, wire: str, what: str, request: Any) -> None:
        endpoint = vertex.addresses["grpc_tls"] if wire == "grpc" else vertex.rest
        certificate = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(vertex.addresses["certificate"])}
        self._errors: IO[str] = (vertex.folder / f"user-{wire}-{what}.log").open("a+", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(endpoint), wire, what, json.dumps(request)],
            env={**os.environ, **certificate},
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def says(self) -> Any:
        """The next object; fails with all that the program complained of when there is none."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise AssertionError(f"the program ended with {self._process.wait()}:\n{self._errors.read()}")
        return json.loads(line)
