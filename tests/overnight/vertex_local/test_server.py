import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from google.api_core import exceptions
from google.cloud import aiplatform_v1 as v1

import overnight.vertex_local
from overnight.files import FolderInUse
from overnight.vertex_local.server import Server, read_addresses
from vertex_support import PARENT, client

SOURCES = Path(overnight.vertex_local.__file__).parent
ALLOWED = ("overnight.errors", "overnight.files", "overnight.vertex_local")


def fill(server):
    """A bit of everything; returns what clients read back."""
    models, metadata = client(server, v1.ModelServiceClient), client(server, v1.MetadataServiceClient)
    upload = {"parent": PARENT, "model_id": "clf", "model": {"display_name": "clf", "version_aliases": ["champion"]}}
    operation = models.upload_model(request=upload)
    operation.result(timeout=5)
    store = metadata.create_metadata_store(parent=PARENT, metadata_store={}, metadata_store_id="default").result(
        timeout=5
    )
    artifact = metadata.create_artifact(parent=store.name, artifact={"uri": "gs://b/x"}).name
    execution = metadata.create_execution(parent=store.name, execution={}).name
    metadata.add_execution_events(execution=execution, events=[{"artifact": artifact, "type_": "INPUT"}])
    return read(server, execution, operation.operation.name)


def read(server, execution, operation):
    models, metadata = client(server, v1.ModelServiceClient), client(server, v1.MetadataServiceClient)
    return (
        execution,
        operation,
        models.get_model(name=f"{PARENT}/models/clf@champion"),
        metadata.query_execution_inputs_and_outputs(execution=execution),
        models.get_operation(request={"name": operation}).done,
    )


def test_a_restart_keeps_everything(tmp_path):
    with Server(tmp_path) as server:
        before = fill(server)
        certificate = server.certificate.read_bytes()
    with Server(tmp_path) as server:
        assert read(server, *before[:2]) == before
        assert server.certificate.read_bytes() == certificate
        more = {"parent": PARENT, "parent_model": f"{PARENT}/models/clf", "model": {"display_name": "clf"}}
        done = client(server, v1.ModelServiceClient).upload_model(request=more).result(timeout=5)
        assert done.model_version_id == "2"


def test_a_killed_server_has_kept_what_it_answered(tmp_path):
    command = [sys.executable, "-m", "overnight", "vertex", "serve", "--folder", str(tmp_path)]
    ports = ["--grpc-port", "0", "--tls-port", "0", "--rest-port", "0"]
    with subprocess.Popen([*command, *ports], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[1]
        running = type("Running", (), {"grpc_address": address})
        before = fill(running)
        process.send_signal(signal.SIGKILL)
    with Server(tmp_path) as server:
        assert read(server, *before[:2]) == before


def test_a_folder_has_one_server(tmp_path):
    with Server(tmp_path), pytest.raises(FolderInUse):
        Server(tmp_path).start()
    with Server(tmp_path):
        pass


@pytest.mark.parametrize("kind", ["grpc", "tls", "rest"])
def test_a_port_that_is_taken_is_an_error_and_leaves_the_folder_free(tmp_path, kind):
    with Server(tmp_path / "one") as first:
        address = {"grpc": first.grpc_address, "tls": first.tls_address, "rest": first.rest_url}[kind]
        port = {f"{kind}_port": int(address.rsplit(":", 1)[1])}
        with pytest.raises(OSError, match=r"[Aa]ddress|listen"):
            Server(tmp_path / "two", **port).start()
    with Server(tmp_path / "two"):
        pass


def test_a_stopped_server_says_that_it_is_gone(tmp_path):
    with Server(tmp_path) as server:
        addresses = read_addresses(tmp_path)
        assert (addresses["grpc"], addresses["process"]) == (server.grpc_address, os.getpid())
    with pytest.raises(Exception, match="no local Vertex AI runs"):
        read_addresses(tmp_path)


def test_a_service_that_fails_in_the_background_does_not_stop_the_server(tmp_path, monkeypatch):
    from overnight.vertex_local.services.endpoints import EndpointsService

    called = []

    def fail(self):
        called.append(self)
        raise ZeroDivisionError

    monkeypatch.setattr(EndpointsService, "tick", fail, raising=False)
    with Server(tmp_path) as server:
        endpoints = client(server, v1.EndpointServiceClient)
        endpoints.create_endpoint(parent=PARENT, endpoint={"display_name": "x"}).result(timeout=5)
        server.world.wake()
        with pytest.raises(exceptions.NotFound):
            endpoints.get_endpoint(name=f"{PARENT}/endpoints/7")
    assert called


def test_the_part_stands_on_its_own():
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            strange = [n for n in names if n.split(".")[0] == "overnight" and not n.startswith(ALLOWED)]
            assert not strange, f"{path}: {strange}"
