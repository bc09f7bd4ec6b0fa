"""What the schema does not say of a resource: ids, what replaces it, the API's own rules. rules/*.json holds it."""

import json
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One resource type's rules. A path is dotted names (`worker_config.machine_type`); a template has {names}."""

    id: str = ""
    """Template of the id in Terraform's state."""
    imports: list[str] = field(default_factory=lambda: ["{id}"])
    """Templates of what `terraform import` takes, as the provider documents them; the id alone if none are given."""
    computed: dict[str, str] = field(default_factory=dict)
    """Path to template, for what the API fills; {digits}, {now} and {number} (the project's) are given."""
    known_at_plan: list[str] = field(default_factory=list)
    """Computed attributes that the provider knows before apply."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """Defaults that the bindings' documentation does not give."""
    api_fills: dict[str, str] = field(default_factory=dict)
    """Path to path: an unset argument that the API answers with the other one's value, and Terraform then sees."""
    force_new: list[str] = field(default_factory=list)
    """Paths whose change replaces the resource; "*" is every argument but those in `in_place`."""
    in_place: list[str] = field(default_factory=lambda: ["deletion_policy"])
    matches: dict[str, str] = field(default_factory=dict)
    """Path to a regular expression that the whole value must match."""
    exactly_one_of: list[list[str]] = field(default_factory=list)
    at_least_one_of: list[list[str]] = field(default_factory=list)
    conflicts: list[list[str]] = field(default_factory=list)
    free_labels: list[str] = field(default_factory=list)
    """Paths named like labels that are none."""
    repeatable: bool = False
    """Creating what is there already succeeds."""
    survives_destroy: bool | str = False
    """Destroying only forgets it; a name is the switch that makes it really go."""
    filled_by: dict[str, str] = field(default_factory=dict)
    """Type to path: as long as such an object names this one, it cannot be destroyed without force_destroy."""
    slow: bool = False
    """Others name it by a text that they know early, so strict mode takes its time to make it."""
    api: str | list[str] = ""
    """The service, or services, that must be enabled; enabling one of those needs none."""
    references: list[dict[str, str]] = field(default_factory=list)
    """`at` (path), `match` (regular expression), `type`, `id` (template; {1} is the first group): must exist."""
    accounts: list[str] = field(default_factory=list)
    """Paths to service accounts or IAM members that must exist."""
    grants: list[dict[str, str]] = field(default_factory=list)
    """`at` (path), `type` of IAM member, `on` (its attribute), `agent`: the agent must hold a role there."""


NO_RULE = Rule()
FOLDER = Path(__file__).with_name("rules")


def load(folder: Path = FOLDER) -> dict[str, Rule]:
    """The rules by resource type, `data.` before a data source's. Raises ValueError for a key that no rule has."""
    raw: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob("*.json")):
        for name, rule in json.loads(file.read_text()).items():
            _check(name, rule)
            if name in raw:
                raise ValueError(f"{file.name}: {name} has rules already")
            raw[name] = rule
    shared = {name: raw.pop(name) for name in list(raw) if "*" in name}
    return {name: Rule(**_merged(name, rule, shared)) for name, rule in raw.items()}


def _check(name: str, rule: dict[str, Any]) -> None:
    if unknown := set(rule) - {each.name for each in fields(Rule)}:
        raise ValueError(f"{name}: no rule is called {', '.join(sorted(unknown))}")


def _merged(name: str, rule: dict[str, Any], shared: dict[str, dict[str, Any]]) -> dict[str, Any]:
    merged = dict(rule)
    for pattern, common in shared.items():
        if not fnmatchcase(name, pattern):
            continue
        for key, value in common.items():
            if isinstance(value, dict):
                merged[key] = {**value, **merged.get(key, {})}
            elif isinstance(value, list):
                merged[key] = [*value, *merged.get(key, [])]
            else:
                merged.setdefault(key, value)
    return merged
