"""A provider's schemas, in the shape of `terraform providers schema -json`, and what our code asks of them.

An attribute may also have `allowed` (its documented values) and `default` (its documented default):
bindings_schema.py takes both out of the documentation.
"""

from collections.abc import Iterator
from typing import Any

Block = dict[str, Any]


def attributes(block: Block) -> dict[str, dict[str, Any]]:
    """The block's attributes by name."""
    found: dict[str, dict[str, Any]] = block.get("attributes", {})
    return found


def blocks(block: Block) -> dict[str, dict[str, Any]]:
    """The nested block types by name: `nesting_mode`, `block`, `min_items`, `max_items`."""
    found: dict[str, dict[str, Any]] = block.get("block_types", {})
    return found


def names(block: Block) -> list[str]:
    """Everything that a value of this block has."""
    return [*attributes(block), *blocks(block)]


def settable(block: Block) -> list[str]:
    """What a configuration may set, the time limits of operations left out."""
    free = [name for name, attribute in attributes(block).items() if not is_read_only(attribute)]
    return [*free, *(name for name in blocks(block) if name != "timeouts")]


def is_read_only(attribute: dict[str, Any]) -> bool:
    """Whether the provider alone decides the value."""
    return bool(attribute.get("computed") and not attribute.get("optional"))


def nested(block: Block, value: dict[str, Any]) -> Iterator[tuple[str, Block, tuple[str | int, ...], dict[str, Any]]]:
    """Each nested block in a value: its name, its schema, the steps that lead to it, its own value."""
    for name, kind in blocks(block).items():
        content = value.get(name)
        if kind["nesting_mode"] == "single":
            elements: list[tuple[tuple[str | int, ...], Any]] = [((name,), content)]
        elif kind["nesting_mode"] == "map":
            elements = [((name, key), element) for key, element in (content or {}).items()]
        else:
            # Terraform's paths cannot point into a set: the set itself is as far as they go.
            numbered = kind["nesting_mode"] == "list"
            elements = [((name, at) if numbered else (name,), element) for at, element in enumerate(content or [])]
        for steps, element in elements:
            if isinstance(element, dict):
                yield name, kind["block"], steps, element
