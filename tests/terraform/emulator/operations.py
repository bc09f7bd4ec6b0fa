"""Create, read, update, delete and import objects of the emulated project."""

import copy
import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from terraform.emulator import agents, schema, strict, validation
from terraform.emulator.cloud import Contents, injected_failure, objects, opened, project, read_switches, reading
from terraform.emulator.rules import Rule
from terraform.emulator.values import UNKNOWN, canonical, is_set, parts, render

NOW = "2026-01-01T00:00:00Z"
Object = dict[str, Any]


class Refused(Exception):
    """The API says no; the message is its answer."""


@dataclass(frozen=True)
class Kind:
    """A resource type with all that is known of it, in one provider's settings, on one emulated project."""

    name: str
    block: schema.Block
    rule: Rule
    cloud: Path
    settings: Mapping[str, Any]

    def create(self, planned: Object) -> Object:
        """Make the object; in strict mode after a while, in which the project is free for others."""
        self._fail_if_asked("create", planned)
        with reading(self.cloud) as contents:
            switches = read_switches(contents)
            made = self._complete(planned, contents)
            self._check(made)
            if switches.strict and (problem := strict.refusal(self.rule, made, contents, self.settings)):
                raise Refused(problem)
        if switches.strict:
            time.sleep(switches.enable_seconds if self.rule.slow else switches.create_seconds)
        with opened(self.cloud) as contents:
            if made["id"] in objects(contents, self.name) and not self.rule.repeatable:
                raise Refused(f"Error 409: {self.name} {made['id']} already exists")
            objects(contents, self.name)[made["id"]] = made
        return made

    def read(self, state: Object) -> Object | None:
        """The object as it is now; None when it is gone."""
        self._fail_if_asked("read", state)
        with reading(self.cloud) as contents:
            return contents.get(self.name, {}).get(state["id"])

    def update(self, planned: Object) -> Object:
        """Change the object in place."""
        self._fail_if_asked("update", planned)
        with opened(self.cloud) as contents:
            changed = self._complete(planned, contents)
            self._check(changed)
            if changed["id"] not in objects(contents, self.name):
                raise Refused(f"Error 404: {self.name} {changed['id']} does not exist")
            objects(contents, self.name)[changed["id"]] = changed
            return changed

    def delete(self, state: Object) -> None:
        """Destroy the object, or only forget it where that is all that Google offers."""
        self._fail_if_asked("delete", state)
        with opened(self.cloud) as contents:
            if state.get("deletion_policy") == "PREVENT" or state.get("deletion_protection") is True:
                raise Refused(f"cannot destroy {self.name} {state['id']}: its deletion is protected")
            if state.get("deletion_policy") == "ABANDON":
                return
            if not state.get("force_destroy") and (inside := self._inside(contents, state)):
                raise Refused(f"Error 409: {self.name} {state['id']} is not empty: {inside}")
            survives = self.rule.survives_destroy
            if survives is True or (isinstance(survives, str) and not state.get(survives)):
                return
            objects(contents, self.name).pop(state["id"], None)

    def find(self, given: str) -> Object:
        """The object that an import names, in any of the provider's documented forms."""
        self._fail_if_asked("import", given)
        with reading(self.cloud) as contents:
            for found in contents.get(self.name, {}).values():
                names = [render(form, {**self._scope(contents), **found}) for form in self.rule.imports]
                if given in [f"{name}{_condition(found, ' ')}" for name in names]:
                    return found
        raise Refused(f"Cannot import non-existent remote object: {self.name} {given}")

    def look_up(self, wanted: Object) -> Object:
        """A data source's answer."""
        self._fail_if_asked("read", wanted)
        with reading(self.cloud) as contents:
            found = self._complete(wanted, contents)
            switches = read_switches(contents)
            if switches.strict and (problem := strict.refusal(self.rule, found, contents, self.settings)):
                raise Refused(problem)
            return found

    def _fail_if_asked(self, operation: str, value: Any) -> None:
        with reading(self.cloud) as contents:
            if not read_switches(contents).fail:
                return
        with opened(self.cloud) as contents:
            message = injected_failure(contents, operation, self.name, value)
        if message:
            raise Refused(message)

    def _check(self, value: Object) -> None:
        """Once more with every value known: what was unknown at plan could not be checked then."""
        settable = {name: value.get(name) for name in [*schema.settable(self.block)]}
        for problem in validation.api_problems(self.block, self.rule, settable):
            raise Refused(problem.summary)

    def _inside(self, contents: Contents, state: Object) -> str | None:
        for resource_type, path in self.rule.filled_by.items():
            for found in objects(contents, resource_type).values():
                if state["id"] in [content for _, content in parts(found, path)]:
                    return f"{resource_type} {found['id']}"
        return None

    def _scope(self, contents: Contents) -> dict[str, Any]:
        here = project(contents, self.settings)
        known = {name: text for name, text in self.settings.items() if isinstance(text, str)}
        return {"project": here["project_id"], **known, "number": here["number"], "now": NOW}

    def _complete(self, planned: Object, contents: Contents) -> Object:
        """The object with everything known: what rules compute, then what no rule knows."""
        made = copy.deepcopy(planned)
        seed = int(hashlib.sha256(canonical([self.name, _named(made)]).encode()).hexdigest(), 16)
        scope = {**self._scope(contents), "digits": str(10**18 + seed % 10**18), "hex": f"{seed % 16**12:012x}"}
        if "service" in made and self.name == "google_project_service_identity":
            scope["agent"] = agents.email(made["service"], scope["number"])
        for name, template in {**self.rule.computed, "id": self.rule.id}.items():
            _compute(self.block, made, name, template, scope)
        if planned.get("id") is UNKNOWN:
            made["id"] += _condition(made, "/")
        _invent(self.block, made, seed)
        for path, source in self.rule.api_fills.items():
            _fill_from(made, path, source)
        return made


def _condition(value: Object, before: str) -> str:
    """What tells a conditional IAM member from one without: its condition's title."""
    return f"{before}{value['condition'][0]['title']}" if "member" in value and value.get("condition") else ""


def _named(value: Object) -> list[Any]:
    return [value.get(name) for name in ("name", "display_name", "account_id", "dashboard_json")]


def _compute(block: schema.Block, made: Object, path: str, template: str, scope: Mapping[str, Any]) -> None:
    holder, _, name = path.rpartition(".")
    holders = [part for _, part in parts(made, holder)] if holder else [made]
    for part in holders:
        for element in part if isinstance(part, list) else [part]:
            if not isinstance(element, dict) or element.get(name) is not UNKNOWN:
                continue
            known = {key: text for key, text in {**made, **element}.items() if text is not None and text is not UNKNOWN}
            text = render(template, {**scope, **known}) if template else None
            if text is not None:
                is_number = not holder and schema.attributes(block)[name]["type"] == "number"
                element[name] = int(text) if is_number else text


def _invent(block: schema.Block, value: Object, seed: int) -> None:
    """Give what is still unknown some value of its type."""
    for name, attribute in schema.attributes(block).items():
        if value.get(name) is not UNKNOWN:
            continue
        kind = attribute["type"]
        if isinstance(kind, list):
            value[name] = {} if kind[0] == "map" else []
        elif name == "deletion_policy":
            value[name] = "DELETE"
        else:
            value[name] = {"number": 0, "bool": False}.get(kind, f"emulated-{name}-{seed % 16**6:06x}")
    for _, inner, _, content in schema.nested(block, value):
        _invent(inner, content, seed)


def _fill_from(made: Object, path: str, source: str) -> None:
    holder, _, name = path.rpartition(".")
    for _, part in parts(made, holder):
        for element in part or []:
            answers = [answer for _, answer in parts(element, source) if answer is not None]
            if answers and not is_set(element.get(name)):
                element[name] = answers[0]
