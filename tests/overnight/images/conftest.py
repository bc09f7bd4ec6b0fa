"""A registry on loopback and its client."""

from collections.abc import Iterator

import pytest

from overnight.images.registry import Registry
from registry_client import Sleeps
from registry_server import RegistryServer, running_registry


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with running_registry() as running:
        yield running


@pytest.fixture
def sleeps() -> Sleeps:
    return Sleeps()


@pytest.fixture
def registry(server: RegistryServer, sleeps: Sleeps) -> Registry:
    return Registry(server.host, sleep=sleeps)
