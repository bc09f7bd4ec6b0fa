"""Fixtures of end-to-end tests."""

import os

import pytest


@pytest.fixture(scope="session")
def command_environment() -> dict[str, str]:
    """The environment in which commands run as processes: one thread each, this machine is small."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160"}
