"""Broken specs and what exactly is found in each; sound ones in which nothing is found."""

import json
import re
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from overnight.config import load
from overnight.jobs.check import check
from overnight.jobs.context import Context, context_of
from overnight.jobs.document import Document, dotted
from overnight.jobs.rules import RULES

FOLDER = Path(__file__).parent / "corpus"
TODAY = date(2026, 11, 30)
EXAMPLE = context_of(load(Path(__file__).parents[3] / "config" / "example.yaml"), TODAY)


def read(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((FOLDER / name).read_text())


BASES = read("bases.yaml")
BROKEN = [
    entry for path in sorted(FOLDER.glob("*.yaml")) if path.stem not in ("bases", "valid") for entry in read(path.name)
]
VALID = read("valid.yaml")


def places(kind: str) -> dict[str, str]:
    """Short names of places, as entries write them."""
    spec = f"{kind}.{'jobSpec' if kind == 'customJob' else 'trialJobSpec'}"
    return {"job": kind, "spec": spec, "study": f"{kind}.studySpec", "block": "overnight"} | {
        f"pool{number}": f"{spec}.workerPoolSpecs[{number}]" for number in range(5)
    }


def full(short: str, kind: str) -> str:
    """`pool0.replicaCount` is `customJob.jobSpec.workerPoolSpecs[0].replicaCount`."""
    head = re.match(r"\w*", short)[0]
    return places(kind).get(head, head) + short[len(head) :]


def parts(path: str) -> list[str | int]:
    return [int(number) if number else name for name, number in re.findall(r"([^.\[\]]+)(?=[.\[]|$)|\[(\d+)\]", path)]


def put(data: Any, path: list[str | int], value: Any) -> None:
    """Set a value, making what is missing above it."""
    for part, following in pairwise(path):
        if isinstance(data, list) and part == len(data):
            data.append({})
        data = data.setdefault(part, {} if isinstance(following, str) else []) if isinstance(data, dict) else data[part]
    if isinstance(data, list) and path[-1] == len(data):
        data.append(value)
    else:
        data[path[-1]] = value


def take(data: Any, path: list[str | int]) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data.pop(path[-1])


def made(entry: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The entry's spec, and the kind of its job."""
    data = json.loads(json.dumps(BASES[entry.get("base", "single")]))  # a copy without the anchors' sharing
    kind = next(iter(data))
    for path in entry.get("drop", []):
        take(data, parts(full(path, kind)))
    for path, value in entry.get("set", {}).items():
        put(data, parts(full(path, kind)), value)
    if "env" in entry:
        variables = [{"name": f"A{number}", "value": ""} for number in range(entry["env"])]
        put(data, parts(full("pool0.containerSpec.env", kind)), variables)
    if "characters" in entry:
        put(data, parts(full("pool0.containerSpec.args", kind)), ["x" * entry["characters"]])
    return data, kind


def context(entry: dict[str, Any]) -> Context:
    wanted = entry.get("context", {})
    if wanted == "none":
        return Context(today=TODAY)
    return replace(
        EXAMPLE, **{name: tuple(value) if isinstance(value, list) else value for name, value in wanted.items()}
    )


def found(data: dict[str, Any], surroundings: Context) -> list[str]:
    report = check(Document(Path("job.yaml"), data, {}), surroundings)
    return sorted(f"{finding.rule} {finding.severity} {dotted(finding.path)}" for finding in report.findings)


@pytest.mark.parametrize("entry", BROKEN, ids=lambda entry: entry["name"])
def test_a_broken_spec_has_exactly_these_findings(entry: dict[str, Any]) -> None:
    data, kind = made(entry)
    expected = []
    for text in entry["expect"]:
        rule, severity, place = text.split(" ", 2)
        expected.append(f"{rule} {severity} {full(place, kind)}")
    assert found(data, context(entry)) == sorted(expected)


@pytest.mark.parametrize("entry", VALID, ids=lambda entry: entry["name"])
def test_a_sound_spec_has_none(entry: dict[str, Any]) -> None:
    data, _ = made(entry)
    assert found(data, context(entry)) == []


def test_every_rule_is_broken_by_some_entry() -> None:
    broken = {text.split(" ")[0] for entry in BROKEN for text in entry["expect"]}
    assert {rule.slug for rule in RULES} - broken == {"not-a-spec"}  # no document at all: tested with files


def test_entries_say_where_they_come_from_and_differ() -> None:
    names = [entry["name"] for entry in [*BROKEN, *VALID]]
    assert len(set(names)) == len(names)
    assert all(entry["from"] for entry in BROKEN)
    assert len(BROKEN) >= 120
    assert len(VALID) >= 30
