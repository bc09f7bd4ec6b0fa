"""What a resource will look like after apply, and which changes replace it."""

import copy
from collections.abc import Mapping
from typing import Any

from terraform.emulator import schema
from terraform.emulator.rules import Rule
from terraform.emulator.values import UNKNOWN, Steps, is_known, parts, render, same

ATTRIBUTION = {"goog-terraform-provisioned": "true"}
"""The label that the provider adds unless add_terraform_attribution_label is false."""


def plan_create(block: schema.Block, rule: Rule, proposed: dict[str, Any], settings: Mapping[str, Any]) -> Any:
    """The planned object: documented defaults, what is known already, and the rest known after apply."""
    return _filled(block, rule, proposed, _known_early(block, rule, proposed, settings))


def plan_update(
    block: schema.Block, rule: Rule, prior: dict[str, Any], proposed: dict[str, Any], settings: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Steps]]:
    """The planned object, and the places whose change replaces it."""
    planned = copy.deepcopy(proposed)
    known = {name: prior.get(name) for name in schema.attributes(block)}
    planned.update(_labels(block, planned, settings))
    planned = _filled(block, rule, planned, known)
    return planned, replacements(block, rule, prior, planned)


def replacements(block: schema.Block, rule: Rule, prior: dict[str, Any], planned: dict[str, Any]) -> list[Steps]:
    """The places at which `planned` differs from `prior` and cannot be changed in place."""
    paths = rule.force_new
    if "*" in paths:
        paths = [name for name in schema.settable(block) if name not in (*rule.in_place, "id")]
        # Labels that the provider adds by itself count as much as those that a resource names.
        paths += [name for name in ("effective_labels",) if "labels" in paths]
    found: list[Steps] = []
    for path in paths:
        before, after = dict(parts(prior, path)), dict(parts(planned, path))
        for steps in {**before, **after}:
            if not same(before.get(steps), after.get(steps)):
                found.append(_as_far_as_terraform_can(block, steps))
    return list(dict.fromkeys(found))


def _as_far_as_terraform_can(block: schema.Block, steps: Steps) -> Steps:
    """Terraform's paths end at a set."""
    reached: list[str | int] = []
    inner = block
    for step in steps:
        reached.append(step)
        kind = schema.blocks(inner).get(step) if isinstance(step, str) else None
        if kind:
            if kind["nesting_mode"] == "set":
                break
            inner = kind["block"]
    return tuple(reached)


def _filled(block: schema.Block, rule: Rule, value: dict[str, Any], known: Mapping[str, Any], above: str = "") -> Any:
    for name, attribute in schema.attributes(block).items():
        if value.get(name) is not None:
            continue
        default = rule.defaults.get(above + name, attribute.get("default"))
        if attribute.get("computed"):
            value[name] = known.get(name, UNKNOWN if default is None else default)
        elif default is not None and not attribute.get("required"):
            value[name] = default
    for name, inner, _, content in schema.nested(block, value):
        _filled(inner, rule, content, {}, f"{above}{name}.")
    return value


def _known_early(
    block: schema.Block, rule: Rule, proposed: Mapping[str, Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    attributes = schema.attributes(block)
    known: dict[str, Any] = {}
    for name, setting in (("project", "project"), ("region", "region"), ("zone", "zone"), ("location", "region")):
        if attributes.get(name, {}).get("computed") and settings.get(setting):
            known[name] = settings[setting]
    known.update(_labels(block, proposed, settings))
    scope = {**known, **{name: value for name, value in proposed.items() if value is not None}}
    for name in rule.known_at_plan:
        text = render(rule.computed[name], scope)
        if text is not None:
            scope[name] = known[name] = text
    return known


def _labels(block: schema.Block, value: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    if "effective_labels" not in schema.attributes(block) or not is_known(value.get("labels")):
        return {}
    labels = {**(settings.get("default_labels") or {}), **(value.get("labels") or {})}
    if settings.get("add_terraform_attribution_label") is not False:
        labels |= ATTRIBUTION
    return {"terraform_labels": labels, "effective_labels": labels}
