"""Whether a resource's arguments are acceptable, before any object exists: documented values and written rules.

Names, types and required arguments are not checked here: Terraform's core does that with the schema.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from terraform.emulator import schema
from terraform.emulator.rules import Rule
from terraform.emulator.values import UNKNOWN, Steps, is_set, parts

LABEL_COUNT = 64
"""Labels on one resource at most; syntax of both parts: cloud.google.com/resource-manager/docs/labels-overview."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with an argument, in the provider's or the API's words."""

    summary: str
    detail: str = ""
    steps: Steps = ()


def problems(block: schema.Block, rule: Rule, value: dict[str, Any]) -> list[Problem]:
    """Everything wrong with a resource's configuration."""
    return [*_documented(block, value, ()), *api_problems(block, rule, value), *_groups(rule, value)]


def api_problems(block: schema.Block, rule: Rule, value: dict[str, Any]) -> list[Problem]:
    """What the API would refuse of the values themselves."""
    return [*_matching(rule, value), *_labels(block, rule, value)]


def _documented(block: schema.Block, value: dict[str, Any], above: Steps) -> Iterator[Problem]:
    for name, attribute in schema.attributes(block).items():
        content, steps = value.get(name), (*above, name)
        if content is None or content is UNKNOWN:
            continue
        if schema.is_read_only(attribute):
            yield Problem(
                "Value for unconfigurable attribute",
                f'Can\'t configure a value for "{name}": its value will be decided automatically.',
                steps,
            )
        for each in content if isinstance(content, list) else [content]:
            allowed = attribute.get("allowed")
            if allowed and isinstance(each, str) and each not in allowed:
                yield Problem(f"expected {_dotted(steps)} to be one of {allowed}, got {each}", steps=steps)
    for _, inner, steps, content in schema.nested(block, value):
        yield from _documented(inner, content, (*above, *steps))


def _matching(rule: Rule, value: dict[str, Any]) -> Iterator[Problem]:
    for path, pattern in rule.matches.items():
        for steps, content in parts(value, path):
            if isinstance(content, str) and not re.fullmatch(pattern, content, re.DOTALL):
                yield Problem(f'"{_dotted(steps)}" ("{content}") doesn\'t match regexp "{pattern}"', steps=steps)


def _groups(rule: Rule, value: dict[str, Any]) -> Iterator[Problem]:
    for group, count, unsure in _counted(rule.exactly_one_of, value):
        if count > 1 or (count == 0 and not unsure):
            yield Problem("Invalid combination of arguments", f"exactly one of {group} must be specified, got {count}")
    for group, count, unsure in _counted(rule.at_least_one_of, value):
        if count == 0 and not unsure:
            yield Problem("Missing required argument", f"one of {group} must be specified")
    for group, count, _ in _counted(rule.conflicts, value):
        if count > 1:
            yield Problem("Conflicting configuration arguments", f"{group} cannot be used together")


def _counted(groups: list[list[str]], value: dict[str, Any]) -> Iterator[tuple[str, int, bool]]:
    """Each group in each block that holds it: how many members are set, and whether some may yet turn out to be."""
    for group in groups:
        holder = group[0].rpartition(".")[0]
        members = [path.rpartition(".")[2] for path in group]
        holders = [part for _, part in parts(value, holder)] if holder else [value]
        for part in holders:
            for block in part if isinstance(part, list) else [part]:
                if isinstance(block, dict):
                    contents = [block.get(member) for member in members]
                    certain = [content for content in contents if content is not UNKNOWN and is_set(content)]
                    yield f"`{', '.join(group)}`", len(certain), UNKNOWN in contents


def _labels(block: schema.Block, rule: Rule, value: dict[str, Any], above: Steps = ()) -> Iterator[Problem]:
    for name in ("labels", "user_labels"):
        labels, steps = value.get(name), (*above, name)
        is_map = schema.attributes(block).get(name, {}).get("type") == ["map", "string"]
        if is_map and isinstance(labels, dict) and _dotted(steps) not in rule.free_labels:
            if len(labels) > LABEL_COUNT:
                yield Problem(f"Error 400: {_dotted(steps)} has {len(labels)} labels of {LABEL_COUNT}", steps=steps)
            for key, text in labels.items():
                if not _is_label(key, text):
                    yield Problem(f"Error 400: Invalid label '{key}: {text}'", _LABEL_SYNTAX, steps)
    for _, inner, steps, content in schema.nested(block, value):
        yield from _labels(inner, rule, content, (*above, *steps))


_LABEL_SYNTAX = (
    "Keys begin with a lowercase letter; keys and values have up to 63 lowercase letters, digits, underscores, hyphens."
)


def _is_label(key: str, text: Any) -> bool:
    def proper(part: str, least: int) -> bool:
        letters = part.replace("_", "").replace("-", "")
        return least <= len(part) <= 63 and part == part.lower() and (not letters or letters.isalnum())

    return proper(key, 1) and key[0].isalpha() and (not isinstance(text, str) or proper(text, 0))


def _dotted(steps: Steps) -> str:
    return ".".join(step for step in steps if isinstance(step, str))
