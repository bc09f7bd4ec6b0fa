"""A plan or a synthesized stack as tests change it: resources by type, blocks as one dictionary, new resources."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["plan", "synth"]
Values = dict[str, Any]


@dataclass(frozen=True)
class Resource:
    """One resource; `values` are its attributes in the document, to be changed in place."""

    address: str
    values: Values
    change: Values
    """The plan's resource_changes entry; empty for a synthesized stack."""
    configuration: Values
    """The plan's configuration entry; for a synthesized stack the values themselves, which hold depends_on."""

    def block(self, *names: str) -> Values:
        """The first block under a path of block names, made when it is not there."""
        place = self.values
        for name in names:
            found = place.setdefault(name, {})
            if isinstance(found, list):
                if not found:
                    found.append({})
                found = found[0]
            place = found
        return place

    def set(self, name: str, value: Any) -> None:
        """Write an attribute, or a whole block in the plan's way, so that it is known."""
        self.values[name] = value
        self.change.get("change", {}).get("after_unknown", {}).pop(name, None)

    def drop(self, name: str) -> None:
        """Leave an attribute out: null in a plan, absent in a synthesized stack; in the configuration too."""
        self.values.pop(name, None)
        if self.change:
            self.set(name, None)
            self.configuration.get("expressions", {}).pop(name, None)


@dataclass(frozen=True)
class Document:
    """One document of either kind."""

    kind: Kind
    content: Values

    @classmethod
    def copy_of(cls, kind: Kind, content: Values) -> "Document":
        """A document that can be changed without changing `content`."""
        return cls(kind, deepcopy(content))

    @property
    def policy(self) -> Values:
        """The value of the output `policy`."""
        outputs = self.content["planned_values"]["outputs"] if self.kind == "plan" else self.content["output"]
        value: Values = outputs["policy"]["value"]
        return value

    def resources(self, type_: str) -> Iterator[Resource]:
        """Every resource of a type, in the document's order."""
        if self.kind == "synth":
            for name, values in self.content["resource"].get(type_, {}).items():
                yield Resource(f"{type_}.{name}", values, {}, values)
            return
        changes = {change["address"]: change for change in self.content["resource_changes"]}
        configured = {one["address"]: one for one in self.content["configuration"]["root_module"]["resources"]}
        for one in self.content["planned_values"]["root_module"]["resources"]:
            if one["type"] == type_:
                address = one["address"]
                yield Resource(address, one["values"], changes[address], configured[address.partition("[")[0]])

    def first(self, type_: str, where: Callable[[Values], bool] = lambda values: True) -> Resource:
        """The first resource of a type whose values fit; StopIteration when there is none."""
        return next(one for one in self.resources(type_) if where(one.values))

    def has(self, type_: str) -> bool:
        """Whether there is a resource of this type."""
        return any(True for _ in self.resources(type_))

    def add(self, type_: str, values: Values, api: str | None = None) -> None:
        """A new resource named `mutant`; `api` is enabled before it, here or by the foundation."""
        needs = self._provide(api) if api else []
        if self.kind == "synth":
            self.content["resource"].setdefault(type_, {})["mutant"] = {**values, "depends_on": needs}
            return
        head = {"address": f"{type_}.mutant", "mode": "managed", "type": type_, "name": "mutant"}
        change = {"actions": ["create"], "before": None, "after": values, "after_unknown": {"id": True}}
        self.content["planned_values"]["root_module"]["resources"].append({**head, "values": values})
        self.content["resource_changes"].append({**head, "change": change})
        self.content["configuration"]["root_module"]["resources"].append(
            {**head, "depends_on": needs, "expressions": {name: {} for name in values}}
        )

    def _provide(self, api: str) -> list[str]:
        service = f"{api}.googleapis.com"
        here = [one.address for one in self.resources("google_project_service") if one.values["service"] == service]
        if not here:
            self.policy["required_apis"].append(service)
        return here
