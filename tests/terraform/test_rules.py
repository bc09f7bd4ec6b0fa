"""The written rules: complete, and true to the schemas."""

import json
from pathlib import Path
from typing import Any

import pytest

from terraform.emulator import rules, schema

RULES = rules.load()


def paths(rule: rules.Rule) -> list[str]:
    """Every path that a rule names."""
    groups = [*rule.exactly_one_of, *rule.at_least_one_of, *rule.conflicts]
    return [
        *rule.computed,
        *rule.known_at_plan,
        *rule.defaults,
        *rule.api_fills,
        *(path for path in (*rule.force_new, *rule.in_place) if path not in ("*", "deletion_policy")),
        *rule.matches,
        *(path for group in groups for path in group),
        *rule.free_labels,
        *(reference["at"] for reference in rule.references),
        *rule.accounts,
        *(grant["at"] for grant in rule.grants),
    ]


def has(block: dict[str, Any], path: str) -> bool:
    name, _, rest = path.partition(".")
    if rest:
        return name in schema.blocks(block) and has(schema.blocks(block)[name]["block"], rest)
    return name in schema.names(block)


@pytest.fixture(scope="module")
def blocks(schemas: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for document in json.loads(schemas.read_text())["providers"].values():
        found |= {name: each["block"] for name, each in document["resource_schemas"].items()}
        found |= {f"data.{name}": each["block"] for name, each in document.get("data_source_schemas", {}).items()}
    return found


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_path_of_a_rule_is_in_the_schema(name: str, blocks: dict[str, Any]) -> None:
    unknown = [path for path in paths(RULES[name]) if not has(blocks[name], path)]
    assert unknown == []


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_rule_has_an_id(name: str) -> None:
    assert RULES[name].id


def test_a_key_that_no_rule_has_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text('{"google_pubsub_topic": {"force_knew": ["name"]}}')
    with pytest.raises(ValueError, match="force_knew"):
        rules.load(tmp_path)


def test_rules_for_a_pattern_join_a_type_s_own(tmp_path: Path) -> None:
    own = {"id": "x", "matches": {"topic": "t"}, "accounts": ["owner"]}
    shared = {"matches": {"role": "r"}, "accounts": ["member"], "repeatable": True}
    (tmp_path / "both.json").write_text(json.dumps({"google_x_iam_member": own, "*_iam_member": shared}))
    (rule,) = rules.load(tmp_path).values()
    assert (rule.id, rule.repeatable, rule.accounts) == ("x", True, ["member", "owner"])
    assert rule.matches == {"role": "r", "topic": "t"}
