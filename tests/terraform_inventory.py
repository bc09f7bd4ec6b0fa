"""A plan as a reviewer reads it: every address with the values that the configuration set, in a stable order."""

import io
import json
from collections.abc import Mapping
from typing import Any

from ruamel.yaml import YAML

UNKNOWN = "(known after apply)"
Path = tuple[str, ...]
Plans = dict[str, dict[str, Any]]
"""Stack to inventory."""

IN_STEP = frozenset({"depends_on", "lifecycle", "provider", "//"})
"""Terraform's own words in a resource, not the resource's."""


def inventory(configuration: Mapping[str, Any], plan: Mapping[str, Any]) -> dict[str, Any]:
    """What `plan` (terraform show -json) creates, with each value that `configuration` (cdk.tf.json) sets."""
    changes = {change["address"]: change for change in plan["resource_changes"] if change["mode"] == "managed"}
    resources = {}
    for address in sorted(changes):
        kind, name = address.split(".", 1)
        written = configuration["resource"][kind][name]
        change = changes[address]["change"]
        entry = _chosen(change["after"], change["after_unknown"], written, _paths(written), ())
        if written.get("lifecycle", {}).get("prevent_destroy"):
            entry["prevent_destroy"] = True
        resources[address] = entry
    outputs = plan["planned_values"].get("outputs", {})
    known = {name: outputs[name].get("value", UNKNOWN) for name in sorted(outputs)}
    return {"resources": resources, "outputs": known}


def _paths(value: Any, path: Path = ()) -> set[Path]:
    """Every attribute that is set, as a path without positions in lists."""
    if isinstance(value, list):
        return {found for item in value for found in _paths(item, path)} | {path}
    if isinstance(value, Mapping):
        inside = {name: inner for name, inner in value.items() if path or name not in IN_STEP}
        return {found for name, inner in inside.items() for found in _paths(inner, (*path, name))} | {path}
    return {path}


def _chosen(after: Any, unknown: Any, written: Any, paths: set[Path], path: Path) -> Any:
    """The planned value without what the provider filled in; an unknown one as the reference that will give it."""
    if unknown is True:
        return f"(known after apply: {written[2:-1]})" if _is_reference(written) else UNKNOWN
    if isinstance(after, list):
        unknowns = unknown if isinstance(unknown, list) else [False] * len(after)
        # Terraform sorts sets its own way: only where there is one element is it surely the one that was written.
        single = written[0] if isinstance(written, list) and len(written) == len(after) == 1 else written
        elements = zip(after, unknowns, strict=True)
        return [_chosen(item, missing, single if len(after) == 1 else None, paths, path) for item, missing in elements]
    if isinstance(after, Mapping):
        unknowns = unknown if isinstance(unknown, Mapping) else {}
        source = written if isinstance(written, Mapping) else {}
        chosen = {
            name: _chosen(after.get(name), unknowns.get(name, False), source.get(name), paths, (*path, name))
            for name in sorted({*after, *unknowns})
            if (*path, name) in paths
        }
        return {name: value for name, value in chosen.items() if value not in (None, [])}
    if isinstance(after, str) and after.startswith(("{", "[")):
        return _document(after)
    return after


def _is_reference(written: Any) -> bool:
    return isinstance(written, str) and written.startswith("${") and written.endswith("}") and written.count("${") == 1


def _document(text: str) -> Any:
    """A JSON document inside a string, such as a dashboard: shown as data, so that a diff shows what changed in it."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def text(content: Mapping[str, Any]) -> str:
    """As YAML, one resource a block; the labels that every labelled resource of the stack has stand once, on top."""
    shared = _shared_labels(content["resources"])
    resources = {
        address: {name: "as above" if shared and value == shared else value for name, value in entry.items()}
        for address, entry in content["resources"].items()
    }
    document = {"labels": shared, "resources": resources, "outputs": content["outputs"]}
    yaml = YAML()
    yaml.width = 10_000  # one value, one line: that is what a diff compares
    yaml.default_flow_style = False
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()


def _shared_labels(resources: Mapping[str, Any]) -> dict[str, str]:
    found = [entry[name] for entry in resources.values() for name in ("labels", "user_labels") if name in entry]
    labels = [each for each in found if "managed_by" in each]
    return max(labels, key=labels.count, default={})
