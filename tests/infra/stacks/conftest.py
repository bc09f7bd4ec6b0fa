"""The stacks of config/example.yaml and of what tests change in it, each synthesized once."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from infra.app import build
from infra.settings import settings
from overnight.config import load

EXAMPLE = Path(__file__).parents[3] / "config" / "example.yaml"
Edit = Callable[[dict[str, Any]], None]


def _as_it_stands(_: dict[str, Any]) -> None:
    return


def _unprotected(google: dict[str, Any]) -> None:
    google["protect"] = False


def _googles_keys(google: dict[str, Any]) -> None:
    google["cmek"]["enabled"] = False


def _quiet(google: dict[str, Any]) -> None:
    google["cloud_build"]["notifications"] = False


def _shared_workers(google: dict[str, Any]) -> None:
    google["cloud_build"].pop("private_pool")


def _cloud_scheduler(google: dict[str, Any]) -> None:
    google["schedules"]["engine"] = "cloud_scheduler"


def _own_names(google: dict[str, Any]) -> None:
    google["storage"]["bucket_names"] = {"models": "acme-models"}


EDITS: dict[str, Edit] = {
    "example": _as_it_stands,
    "unprotected": _unprotected,
    "google-keys": _googles_keys,
    "quiet": _quiet,
    "shared-workers": _shared_workers,
    "cloud-scheduler": _cloud_scheduler,
    "own-names": _own_names,
}


@pytest.fixture(scope="session")
def stacks_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, dict[str, Any]]]:
    """All four stacks' Terraform JSON by name, of a configuration named in EDITS. Not to be changed by tests."""
    made: dict[str, dict[str, dict[str, Any]]] = {}

    def stacks(name: str) -> dict[str, dict[str, Any]]:
        if name not in made:
            made[name] = _synthesized(tmp_path_factory.mktemp(name), EDITS[name])
        return made[name]

    return stacks


def _synthesized(folder: Path, edit: Edit) -> dict[str, dict[str, Any]]:
    content = YAML(typ="safe", pure=True).load(EXAMPLE.read_text(encoding="utf-8"))
    edit(content["google"])
    path = folder / "example.yaml"
    YAML(typ="safe", pure=True).dump(content, path)
    build(settings(load(path), path, today=date(2026, 11, 30)), folder / "out").synth()
    return {file.parent.name: json.loads(file.read_text()) for file in folder.glob("out/stacks/*/cdk.tf.json")}
