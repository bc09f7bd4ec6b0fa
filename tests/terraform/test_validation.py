"""Which values are acceptable, on a small schema of its own."""

from typing import Any

import pytest

from terraform.emulator.rules import Rule
from terraform.emulator.validation import problems
from terraform.emulator.values import UNKNOWN

BLOCK: dict[str, Any] = {
    "attributes": {
        "mode": {"type": "string", "optional": True, "allowed": ["A", "B"]},
        "kinds": {"type": ["list", "string"], "optional": True, "allowed": ["A", "B"]},
        "labels": {"type": ["map", "string"], "optional": True},
        "link": {"type": "string", "computed": True},
    },
    "block_types": {
        "pools": {
            "nesting_mode": "list",
            "block": {
                "attributes": {
                    "size": {"type": "string", "optional": True},
                    "labels": {"type": ["map", "string"], "optional": True},
                }
            },
        }
    },
}
ONE = Rule(exactly_one_of=[["mode", "kinds"]])
POOL = Rule(at_least_one_of=[["pools.size", "pools.labels"]], matches={"pools.size": "[1-9]+"})


def summaries(rule: Rule, value: dict[str, Any]) -> list[str]:
    return [problem.summary for problem in problems(BLOCK, rule, value)]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        (Rule(), {"mode": "A", "kinds": ["A", "B"]}),
        (Rule(), {"mode": UNKNOWN, "kinds": UNKNOWN, "labels": UNKNOWN}),
        (Rule(), {"labels": {"owner": "vision-team_1", "empty": "", "größe": UNKNOWN}}),
        (Rule(free_labels=["labels"]), {"labels": {"Email": "me@acme.example"}}),
        (ONE, {"mode": "A"}),
        (ONE, {"mode": UNKNOWN}),
        (POOL, {"pools": []}),
        (POOL, {"pools": [{"size": "12", "labels": None}, {"size": UNKNOWN, "labels": None}]}),
    ],
)
def test_acceptable_values_pass(rule: Rule, value: dict[str, Any]) -> None:
    assert summaries(rule, value) == []


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (Rule(), {"mode": "C"}, "expected mode to be one of"),
        (Rule(), {"kinds": ["A", "C"]}, "expected kinds to be one of"),
        (Rule(), {"link": "x"}, "unconfigurable"),
        (Rule(), {"labels": {"Owner": "me"}}, "Invalid label 'Owner: me'"),
        (Rule(), {"labels": {"owner": "me@acme"}}, "Invalid label"),
        (Rule(), {"labels": {"owner": "x" * 64}}, "Invalid label"),
        (Rule(), {"labels": {"1st": "me"}}, "Invalid label"),
        (Rule(), {"labels": {f"label{number}": "" for number in range(65)}}, "has 65 labels of 64"),
        (Rule(), {"pools": [{"labels": {"owner": "Me"}}]}, "Invalid label"),
        (ONE, {"mode": "A", "kinds": ["A"]}, "Invalid combination"),
        (ONE, {}, "Invalid combination"),
        (Rule(conflicts=[["mode", "kinds"]]), {"mode": "A", "kinds": ["A"]}, "Conflicting"),
        (POOL, {"pools": [{"size": "1", "labels": None}, {"size": None, "labels": None}]}, "Missing required"),
        (POOL, {"pools": [{"size": "0", "labels": None}]}, "doesn't match regexp"),
    ],
)
def test_other_values_are_refused(rule: Rule, value: dict[str, Any], expected: str) -> None:
    (summary,) = summaries(rule, value)
    assert expected in summary


def test_a_problem_says_where_it_is() -> None:
    (problem,) = problems(BLOCK, POOL, {"pools": [{"size": "1"}, {"size": "0"}]})
    assert problem.steps == ("pools", 1, "size")
