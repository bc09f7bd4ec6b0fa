"""Planned values and replacements, on a small schema of its own."""

from typing import Any

import pytest

from terraform.emulator.planning import plan_create, plan_update
from terraform.emulator.rules import Rule
from terraform.emulator.values import UNKNOWN

BLOCK: dict[str, Any] = {
    "attributes": {
        "name": {"type": "string", "required": True},
        "project": {"type": "string", "optional": True, "computed": True},
        "mode": {"type": "string", "optional": True, "default": "PLAIN"},
        "link": {"type": "string", "computed": True},
        "address": {"type": "string", "computed": True},
        "labels": {"type": ["map", "string"], "optional": True},
        "effective_labels": {"type": ["map", "string"], "computed": True},
        "terraform_labels": {"type": ["map", "string"], "computed": True},
    },
    "block_types": {
        "pools": {
            "nesting_mode": "list",
            "block": {
                "attributes": {
                    "size": {"type": "number", "optional": True, "default": 3},
                    "id": {"type": "string", "optional": True, "computed": True},
                }
            },
        },
        "rules": {
            "nesting_mode": "set",
            "block": {"attributes": {"age": {"type": "number", "optional": True}}},
        },
        "timeouts": {
            "nesting_mode": "single",
            "block": {"attributes": {"create": {"type": "string", "optional": True}}},
        },
    },
}
SETTINGS = {"project": "acme", "add_terraform_attribution_label": False}


def configured(**values: Any) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(BLOCK["attributes"])
    return {**empty, "pools": [], "rules": [], "timeouts": None, "name": "one", **values}


def existing(**values: Any) -> dict[str, Any]:
    computed = {"project": "acme", "link": "l", "address": "a", "mode": "PLAIN"}
    labels: dict[str, Any] = {"effective_labels": {}, "terraform_labels": {}}
    return configured(**{**computed, **labels, **values})


def test_what_is_unset_is_planned_by_default_provider_or_api() -> None:
    rule = Rule(computed={"address": "{name}@{project}"}, known_at_plan=["address"])
    planned = plan_create(BLOCK, rule, configured(pools=[{"size": None, "id": None}]), SETTINGS)
    assert (planned["mode"], planned["project"], planned["address"]) == ("PLAIN", "acme", "one@acme")
    assert planned["link"] is UNKNOWN
    assert planned["pools"] == [{"size": 3, "id": UNKNOWN}]


def test_an_address_that_depends_on_something_unknown_is_unknown() -> None:
    rule = Rule(computed={"address": "{name}@{project}"}, known_at_plan=["address"])
    assert plan_create(BLOCK, rule, configured(name=UNKNOWN), SETTINGS)["address"] is UNKNOWN


def test_a_default_of_the_rules_beats_the_documented_one() -> None:
    rule = Rule(defaults={"mode": "FANCY", "pools.size": 7})
    planned = plan_create(BLOCK, rule, configured(pools=[{"size": None, "id": None}]), SETTINGS)
    assert (planned["mode"], planned["pools"][0]["size"]) == ("FANCY", 7)


def test_time_limits_are_left_alone() -> None:
    planned = plan_create(BLOCK, Rule(), configured(timeouts={"create": None}), SETTINGS)
    assert planned["timeouts"] == {"create": None}


def test_the_provider_adds_its_own_labels() -> None:
    settings = {"project": "acme", "default_labels": {"team": "vision"}}
    planned = plan_create(BLOCK, Rule(), configured(labels={"owner": "me"}), settings)
    expected = {"team": "vision", "owner": "me", "goog-terraform-provisioned": "true"}
    assert planned["effective_labels"] == planned["terraform_labels"] == expected


def test_an_unchanged_resource_keeps_what_the_api_answered() -> None:
    prior = existing(pools=[{"size": 3, "id": "pool-1"}])
    planned, replaced = plan_update(BLOCK, Rule(force_new=["*"]), prior, prior, SETTINGS)
    assert (planned, replaced) == (prior, [])


@pytest.mark.parametrize(
    ("force_new", "change", "expected"),
    [
        (["name"], {"name": "two"}, [("name",)]),
        (["name"], {"mode": "FANCY"}, []),
        (["pools.size"], {"pools": [{"size": 4, "id": "p"}]}, [("pools", 0, "size")]),
        (["pools.size"], {"pools": [{"size": 3, "id": "p"}, {"size": 3, "id": None}]}, [("pools", 1, "size")]),
        (["pools.size"], {"pools": []}, [("pools", 0, "size")]),
        (["rules.age"], {"rules": [{"age": 2}]}, [("rules",)]),
        (["*"], {"mode": "FANCY"}, [("mode",)]),
        (["*"], {"timeouts": {"create": "5m"}}, []),
        (["*"], {"labels": {"owner": "me"}}, [("labels",), ("effective_labels",)]),
    ],
)
def test_a_change_replaces_where_the_rule_says_so(
    force_new: list[str], change: dict[str, Any], expected: list[Any]
) -> None:
    prior = existing(pools=[{"size": 3, "id": "p"}], rules=[{"age": 1}])
    _, replaced = plan_update(BLOCK, Rule(force_new=force_new), prior, {**prior, **change}, SETTINGS)
    assert replaced == expected


def test_what_may_change_in_place_is_not_replaced() -> None:
    rule = Rule(force_new=["*"], in_place=["mode"])
    _, replaced = plan_update(BLOCK, rule, existing(), existing(mode="FANCY"), SETTINGS)
    assert replaced == []


def test_only_a_provider_s_label_is_enough_to_replace() -> None:
    prior = existing(labels={"owner": "me"}, effective_labels={"owner": "me"}, terraform_labels={"owner": "me"})
    settings = {"project": "acme"}
    _, replaced = plan_update(BLOCK, Rule(force_new=["*"]), prior, prior, settings)
    assert replaced == [("effective_labels",)]
