"""Who needs whom in a stack's Terraform JSON: depends_on, and references in values."""

import copy
import json
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

ADDRESS = re.compile(r"(?:data\.)?google_\w+\.\w+")
Edge = tuple[str, str]
"""A resource and one that it needs."""


def blocks(configuration: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every resource and data source with its address."""
    for section, prefix in (("resource", ""), ("data", "data.")):
        for kind, named in configuration.get(section, {}).items():
            for name, block in named.items():
                yield f"{prefix}{kind}.{name}", block


def stated(configuration: Mapping[str, Any]) -> list[Edge]:
    """What depends_on says."""
    return [(address, needed) for address, block in blocks(configuration) for needed in block.get("depends_on", [])]


def referenced(configuration: Mapping[str, Any]) -> list[Edge]:
    """What values refer to."""
    found = []
    for address, block in blocks(configuration):
        values = json.dumps({name: value for name, value in block.items() if name not in ("depends_on", "lifecycle")})
        expressions = re.findall(r"\$\{[^}]*\}", values)
        found += [(address, needed) for text in expressions for needed in ADDRESS.findall(text)]
    return found


def implied(configuration: Mapping[str, Any]) -> list[Edge]:
    """Stated edges that say nothing new: what they name is needed by another way as well."""
    needs: dict[str, list[str]] = {}
    for source, target in [*stated(configuration), *referenced(configuration)]:
        needs.setdefault(source, []).append(target)
    return [edge for edge in stated(configuration) if _reaches(edge, needs)]


def without(configuration: Mapping[str, Any], edges: Set[Edge]) -> dict[str, Any]:
    """A copy in which depends_on does not have these edges."""
    changed = copy.deepcopy(dict(configuration))
    for address, block in blocks(changed):
        if "depends_on" in block:
            block["depends_on"] = [needed for needed in block["depends_on"] if (address, needed) not in edges]
    return changed


def _reaches(edge: Edge, needs: Mapping[str, list[str]]) -> bool:
    source, target = edge
    first = list(needs[source])
    first.remove(target)
    seen: set[str] = set()
    while first:
        address = first.pop()
        if address == target:
            return True
        if address not in seen:
            seen.add(address)
            first += needs.get(address, [])
    return False
