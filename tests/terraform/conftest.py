"""A small stack, ready for real Terraform, with an emulated project of its own."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from terraform import launch
from terraform.workspace import Workspace

PROJECT = "acme-vision"
NUMBER = "481516234207"
SMALL_STACK = Path(__file__).with_name("small_stack.tf.json")


@pytest.fixture(scope="session")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := launch.missing():
        pytest.skip(reason)
    return launch.schema_file(tmp_path_factory.mktemp("schemas"))


@pytest.fixture(scope="session")
def running(schemas: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("small")
    cloud = folder / "cloud.json"
    with launch.warm(cloud, project_id=PROJECT, project_number=NUMBER, schemas=schemas) as environment:
        shutil.copy(SMALL_STACK, folder / "main.tf.json")
        workspace = Workspace(folder, cloud, environment)
        workspace.terraform("init")
        yield workspace


@pytest.fixture
def small(running: Workspace) -> Workspace:
    """The small stack, initialized, on a project in which only what enables services is enabled."""
    shutil.copy(SMALL_STACK, running.folder / "main.tf.json")
    for state in running.folder.glob("terraform.tfstate*"):
        state.unlink()
    with launch.edit(running.cloud) as contents:
        project = contents["//project"]
        contents.clear()
        contents["//project"] = project
        for service in ("cloudresourcemanager.googleapis.com", "serviceusage.googleapis.com"):
            enabled = {"id": f"{PROJECT}/{service}", "project": PROJECT, "service": service}
            contents.setdefault("google_project_service", {})[enabled["id"]] = enabled
    return running


@pytest.fixture(scope="session")
def configuration() -> dict[str, Any]:
    return dict(json.loads(SMALL_STACK.read_text()))
