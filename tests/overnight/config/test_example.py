"""config/example.yaml is complete, and what it shows as a default is one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from ruamel.yaml import YAML

from overnight.config import Environment, load
from overnight.config.schema import spot

EXAMPLE = Path(__file__).parents[3] / "config" / "example.yaml"
INSTEAD = {"replica_count"}
"""Stands in a comment beside the field that it would replace."""

Location = tuple[int | str, ...]


def sections(value: Any, before: Location = ()) -> Iterator[tuple[Location, dict[str, Any]]]:
    """Each section of parsed YAML and its location."""
    if isinstance(value, dict):
        yield before, value
        for name, inner in value.items():
            yield from sections(inner, (*before, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from sections(inner, (*before, place))


def test_every_field_of_the_schema_stands_in_the_example() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    for location, section in sections(YAML(typ="safe", pure=True).load(text)):
        kind = spot(Environment, location).kind
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            absent = set(kind.model_fields) - set(section)
            assert absent <= INSTEAD, location
            assert all(f"# {name}: " in text for name in absent)


@pytest.mark.parametrize("section", ["labels", "split", "validation", "shards", "gate"])
def test_what_the_example_shows_outside_google_are_the_defaults(section: str) -> None:
    assert getattr(load(EXAMPLE), section) == getattr(load(EXAMPLE.with_name("local.yaml")), section)


def test_optional_fields_of_google_stand_with_their_defaults_unless_they_name_something() -> None:
    google = load(EXAMPLE).google
    assert google is not None
    named = {"allowed_regions", "persistent_resources", "cmek", "bigquery"}
    for name, field in type(google).model_fields.items():
        if not field.is_required() and name not in named:
            assert getattr(google, name) == field.get_default(), name
