"""The policies' own tests under both engines, and a table of mistakes in a clean house."""

import json
import re
from collections import Counter
from datetime import date
from functools import cache
from pathlib import Path

import pytest

from infra.policies import FOLDERS
from overnight.policies.engines import ENGINES
from overnight.policies.errors import PolicyError
from overnight.policies.finding import Finding
from overnight.policies.policies import Policies, root
from policies.documents import Document, Kind
from policies.mutations import MUTATIONS, Mutation

DATA = Path(__file__).parent / "data"
FILES: dict[Kind, str] = {"plan": "house.plan.json", "synth": "house.tf.json"}
TODAY = date(2026, 12, 1)
POLICIES = root()
RULE = re.compile(r'"(OVN\d{3})"')


@cache
def policies(engine: str) -> Policies:
    """The policies in one engine; a test that needs an engine which is not installed is skipped."""
    try:
        return Policies.load(FOLDERS, engine)
    except PolicyError as error:
        if "is not installed" not in error.sentence:
            raise
        pytest.skip(error.sentence)


@cache
def house(kind: Kind) -> dict[str, object]:
    """The clean house: a configuration of all kinds of resources, and what Terraform plans for it."""
    content: dict[str, object] = json.loads((DATA / FILES[kind]).read_text())
    return content


def rules() -> set[str]:
    """Ids of all rules in the policies."""
    files = [file for file in POLICIES.rglob("*.rego") if not file.name.endswith("_test.rego")]
    return {found for file in files for found in RULE.findall(file.read_text())}


@cache
def judge(mutation: Mutation, engine: str) -> list[Finding]:
    """What an engine says to the house with one mistake in it."""
    document = Document.copy_of(mutation.on, house(mutation.on))
    assert mutation.applies_to(document), f"the house lacks {mutation.needs}"
    mutation.mutate(document)
    return policies(engine).judge(document.content, TODAY)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_policy_test_holds(engine: str) -> None:
    results = policies(engine).run_tests()
    assert [name for name, holds in results.items() if not holds] == []
    assert len(results) > 200


def test_no_two_policy_tests_share_a_name() -> None:
    for file in POLICIES.rglob("*_test.rego"):
        names = Counter(re.findall(r"^test_\w+", file.read_text(), re.MULTILINE))
        assert [name for name, count in names.items() if count > 1] == [], file


@pytest.mark.parametrize("rule", sorted(rules()))
def test_every_rule_has_a_policy_test_for_and_one_against_it(rule: str) -> None:
    tests = "\n".join(file.read_text() for file in POLICIES.rglob("*_test.rego"))
    assert re.search(rf'^(test_\w+ if |\s+)"{rule}" in', tests, re.MULTILINE)
    assert f'not "{rule}" in' in tests


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", FILES)
def test_the_clean_house_passes(kind: Kind, engine: str) -> None:
    assert policies(engine).judge(house(kind), TODAY) == []


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_is_denied_by_exactly_its_rules(mutation: Mutation) -> None:
    assert {finding.id for finding in judge(mutation, "regorus")} == mutation.expected


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_both_engines_say_the_same_words_to_a_mutation(mutation: Mutation) -> None:
    assert judge(mutation, "opa") == judge(mutation, "regorus")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_what_is_said_to_a_mutation_names_the_place_and_a_remedy(mutation: Mutation) -> None:
    document = Document.copy_of(mutation.on, house(mutation.on))
    mutation.mutate(document)
    for finding in judge(mutation, "regorus"):
        type_, _, name = finding.address.partition(".")
        places = {one.address for one in document.resources(type_)} | {"plan", "output.policy", "provider.google"}
        assert finding.address in places, name
        assert len(finding.problem.split()) >= 3
        assert re.match(
            r"(add|attach|begin|end|give|grant|leave|name|plan|remove|set|undo|use|write|it must)\b", finding.remedy
        )


def test_every_rule_has_a_mutation_that_it_denies() -> None:
    assert rules() == {rule for mutation in MUTATIONS for rule in mutation.expected}


def test_every_rule_is_in_the_documentation() -> None:
    page = (POLICIES.parent / "docs" / "policies.md").read_text()
    listed = re.findall(r"^\| (OVN\d{3}) \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(rules())


def test_mutations_have_names_of_their_own() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(names) == len(set(names)) >= 45


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("nothing", [None, "", [], {}, 7], ids=repr)
@pytest.mark.parametrize("kind", FILES)
def test_values_of_any_kind_break_no_rule(kind: Kind, nothing: object, engine: str) -> None:
    document = Document.copy_of(kind, house(kind))
    for type_ in {change["type"] for change in document_changes()}:
        for resource in document.resources(type_):
            resource.values.update(dict.fromkeys(resource.values, nothing))
    assert policies(engine).judge(document.content, TODAY)


def document_changes() -> list[dict[str, str]]:
    """The plan's changes, for the types in it."""
    changes: list[dict[str, str]] = house("plan")["resource_changes"]  # type: ignore[assignment]
    return changes


def test_a_pool_expires_by_the_given_day() -> None:
    found = policies("regorus").judge(house("synth"), date(2027, 7, 1))
    assert {finding.id for finding in found} == {"OVN802"}
