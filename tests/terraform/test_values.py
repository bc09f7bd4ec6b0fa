"""Values with unknown parts, paths through them, and templates."""

import copy
from typing import Any

import pytest

from terraform.emulator.values import UNKNOWN, is_known, is_set, parts, render, same


def test_a_value_is_known_only_if_all_of_it_is() -> None:
    assert is_known({"a": [1, {"b": None}]})
    assert not is_known({"a": [1, {"b": UNKNOWN}]})


def test_the_unknown_survives_a_copy() -> None:
    assert copy.deepcopy({"a": UNKNOWN})["a"] is UNKNOWN


@pytest.mark.parametrize(
    ("value", "expected"), [(None, False), ([], False), (False, False), ("x", True), (UNKNOWN, True)]
)
def test_an_argument_is_set_when_it_says_something(value: Any, expected: bool) -> None:
    assert is_set(value) is expected


def test_the_order_of_names_makes_no_difference() -> None:
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same(["a", "b"], ["b", "a"])


def test_a_path_reaches_into_every_element_of_a_block() -> None:
    value = {"pools": [{"spec": [{"type": "a"}]}, {"spec": []}, {"spec": [{"type": "b"}]}]}
    assert dict(parts(value, "pools.spec.type")) == {
        ("pools", 0, "spec", 0, "type"): "a",
        ("pools", 2, "spec", 0, "type"): "b",
    }


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("projects/{project}/topics/{topic/}", "projects/p/topics/t"),
        ("{project}", "p"),
        ("{missing}", None),
        ("{later}", None),
    ],
)
def test_a_template_is_filled_or_nothing(template: str, expected: str | None) -> None:
    assert render(template, {"project": "p", "topic": "projects/p/topics/t", "later": UNKNOWN}) == expected
