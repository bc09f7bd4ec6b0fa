"""Where the fields of a YAML file stand."""

from ruamel.yaml.nodes import MappingNode, Node, SequenceNode

FieldPath = tuple[str | int, ...]
"""Where a value stands: `("customJob", "jobSpec", "workerPoolSpecs", 0)`."""


def dotted(path: FieldPath) -> str:
    """`customJob.jobSpec.workerPoolSpecs[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def lines_of(node: Node | None) -> list[tuple[FieldPath, int]]:
    """The line of every field under `node`.

    What an alias repeats is listed where it was written first: elsewhere the alias's own line stands for all of it. So
    neither an alias inside of what it means nor aliases of aliases of aliases take long.
    """
    found: list[tuple[FieldPath, int]] = []
    seen: set[int] = set()

    def walk(node: Node, path: FieldPath) -> None:
        if id(node) in seen:
            return
        seen.add(id(node))
        for name, line, child in _children(node):
            found.append(((*path, name), line))
            walk(child, (*path, name))

    if node is not None:
        walk(node, ())
    return found


def _children(node: Node) -> list[tuple[str | int, int, Node]]:
    if isinstance(node, MappingNode):
        return [(str(key.value), key.start_mark.line + 1, value) for key, value in node.value]
    if isinstance(node, SequenceNode):
        return [(position, item.start_mark.line + 1, item) for position, item in enumerate(node.value)]
    return []
