"""The training stack of config/example.yaml, with what a test changes in it, synthesized in this process."""

import json
from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from infra import cdk
from infra.settings import Settings, settings
from infra.stacks.training import Training
from overnight.config import Environment

EXAMPLE = Path(__file__).parents[1] / "config" / "example.yaml"
TODAY = date(2026, 11, 30)
Edit = Callable[[dict[str, Any]], None]


def unchanged(_: dict[str, Any]) -> None:
    """The example as it stands."""


def example(edit: Edit = unchanged) -> Settings:
    """The example's settings after `edit` has changed its section `google`."""
    content = YAML(typ="safe", pure=True).load(EXAMPLE.read_text(encoding="utf-8"))
    edit(content["google"])
    return settings(Environment.model_validate(content), EXAMPLE, today=TODAY)


def stack(edit: Edit = unchanged) -> Training:
    """The stack as an object, for the functions that take one."""
    return Training(cdk.Testing.app(), example(edit))


@cache
def synthesized(edit: Edit = unchanged) -> dict[str, Any]:
    """The stack's Terraform JSON. Not to be changed by tests: it is made once for each `edit`."""
    made: dict[str, Any] = json.loads(cdk.Testing.synth(stack(edit)))
    return made


def resources(kind: str, edit: Edit = unchanged) -> dict[str, dict[str, Any]]:
    """The resources of one Terraform type, by name."""
    found: dict[str, dict[str, Any]] = synthesized(edit)["resource"].get(kind, {})
    return found
