import pytest
from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.state.clock import Clock
from overnight.vertex_local.state.operations import Operations
from overnight.vertex_local.state.resource import Resources
from overnight.vertex_local.state.store import Store

PLACE = "projects/1/locations/here"


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path / "state.sqlite3")
    yield opened
    opened.close()


@pytest.fixture
def clock(store):
    return Clock(store)


@pytest.fixture
def operations(store, clock):
    return Operations(store, clock)


@pytest.fixture
def resources(store, clock):
    return Resources(store, clock)


@pytest.fixture
def job():
    """A maker of custom jobs."""

    def make(display_name="weekly", **fields):
        return v1.CustomJob.pb(v1.CustomJob(display_name=display_name, **fields))

    return make
