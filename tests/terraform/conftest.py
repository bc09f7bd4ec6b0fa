"""A small stack, ready for real Terraform, with an emulated project of its own."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from terraform import launch
from terraform.emulator import rules
from terraform.emulator.operations import Kind
from terraform.emulator.planning import plan_create
from terraform.workspace import Workspace

PROJECT = "acme-vision"
NUMBER = "481516234207"
SETTINGS = {"project": PROJECT, "region": "us-central1", "add_terraform_attribution_label": False}
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


@pytest.fixture
def cloud(tmp_path: Path) -> Path:
    path = tmp_path / "cloud.json"
    with launch.edit(path) as contents:
        contents["//project"] = {"project_id": PROJECT, "number": NUMBER}
    return path


@pytest.fixture
def kind(schemas: Path, cloud: Path) -> Callable[[str], Kind]:
    documents = json.loads(schemas.read_text())["providers"]
    resources = documents["google"]["resource_schemas"] | documents["google-beta"]["resource_schemas"]
    written = rules.load()
    return lambda name: Kind(name, resources[name]["block"], written[name], cloud, SETTINGS)


@pytest.fixture
def make(kind: Callable[[str], Kind]) -> Callable[..., dict[str, Any]]:
    def made(name: str, /, **values: Any) -> dict[str, Any]:
        each = kind(name)
        return each.create(plan_create(each.block, each.rule, completed(each.block, values), SETTINGS))

    return made


def completed(block: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The values as Terraform sends them: everything of the block is there."""
    whole: dict[str, Any] = {name: values.get(name) for name in block.get("attributes", {})}
    for name, kind in block.get("block_types", {}).items():
        if kind["nesting_mode"] == "single":
            whole[name] = values.get(name)
        else:
            whole[name] = [completed(kind["block"], each) for each in values.get(name, [])]
    return whole
