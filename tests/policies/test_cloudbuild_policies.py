"""The policies over build files: their own tests under both engines, their rows in the documentation."""

import re
from functools import cache
from typing import Any

import pytest

from overnight.policies.engines import ENGINES
from overnight.policies.errors import PolicyError
from overnight.policies.policies import Policies, folders, root

FOLDER = root() / "cloudbuild"
RULE = re.compile(r'"(OVN\d{4})"')
FILE: dict[str, Any] = {
    "steps": [{"id": "a", "name": "debian:12", "script": "curl x | sh", "env": ["A=1"], "args": ["x:latest"]}],
    "images": ["x"],
    "artifacts": {"images": ["y"]},
    "options": {"pool": {"name": "x"}, "env": ["TOKEN=x"]},
    "substitutions": {"_A": "x"},
    "serviceAccount": "x",
}
COMMANDS = [
    {"step": 0, "address": "steps[0].script", "words": words.split(), "environment": {}, "piped": False}
    for words in (
        "docker build --push --tag x --cache-from y .",
        "docker run --privileged x",
        "pip install x",
        "terraform apply",
        "terraform destroy",
        "docker",
    )
]


@cache
def policies(engine: str) -> Policies:
    """The policies in one engine; a test that needs one which is not installed is skipped."""
    try:
        return Policies.load(folders("cloudbuild"), engine)
    except PolicyError as error:
        if "is not installed" not in error.sentence:
            raise
        pytest.skip(error.sentence)


def rules() -> list[str]:
    files = [file for file in FOLDER.glob("*.rego") if not file.name.endswith("_test.rego")]
    return sorted({found for file in files for found in RULE.findall(file.read_text())})


@pytest.mark.parametrize("engine", ENGINES)
def test_every_policy_test_holds(engine: str) -> None:
    results = policies(engine).run_tests()
    assert [name for name, holds in results.items() if not holds] == []
    assert len(results) > 55


@pytest.mark.parametrize("rule", rules())
def test_every_rule_has_a_policy_test_for_and_one_against_it(rule: str) -> None:
    tests = "\n".join(file.read_text() for file in FOLDER.glob("*_test.rego"))
    assert re.search(rf'^(test_\w+ if |\s+)"{rule}" in', tests, re.MULTILINE)
    assert f'not "{rule}" in' in tests


def test_every_rule_is_in_the_documentation() -> None:
    page = (root().parent / "docs" / "policies.md").read_text()
    assert sorted(set(re.findall(r"^\| (OVN2\d{3}) \|", page, re.MULTILINE))) == rules()


def test_both_engines_say_the_same_words() -> None:
    data = {"commands": COMMANDS, "substitutions": {"_CACHE_REPOSITORY": "c"}}
    said = policies("regorus").judge(FILE, data=data)
    assert policies("opa").judge(FILE, data=data) == said
    assert len({finding.id for finding in said}) >= 12


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("nothing", [None, "", [], {}, 7, [None], [[1]], {"a": None}], ids=repr)
def test_values_of_any_kind_break_no_rule(nothing: object, engine: str) -> None:
    documents: list[Any] = [{**FILE, name: nothing} for name in FILE]
    documents += [{**FILE, "steps": [{**FILE["steps"][0], name: nothing}]} for name in FILE["steps"][0]]
    documents += [{**FILE, "options": {**FILE["options"], name: nothing}} for name in FILE["options"]]
    for document in documents:
        policies(engine).judge(document)
