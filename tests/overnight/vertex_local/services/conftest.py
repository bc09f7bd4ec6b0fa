import pytest

from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings
from vertex_support import WIRES, client


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path / "vertex", Settings(project="demo", project_number="123456789012")) as running:
        yield running


@pytest.fixture(params=WIRES)
def wire(request):
    return request.param


@pytest.fixture
def connect(server):
    """A maker of clients: class, wire."""
    return lambda client_class, wire="grpc": client(server, client_class, wire)
