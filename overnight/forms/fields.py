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


def lines_of(node: Node | None, path: FieldPath = (), inside: tuple[Node, ...] = ()) -> list[tuple[FieldPath, int]]:
    """The line of every field under `node`; `inside` are its parents, which an alias can lead back to."""
    found: list[tuple[FieldPath, int]] = []
    if node is None or node in inside:
        return found
    children: list[tuple[str | int, int, Node]] = []
    if isinstance(node, MappingNode):
        children = [(str(key.value), key.start_mark.line + 1, value) for key, value in node.value]
    elif isinstance(node, SequenceNode):
        children = [(position, item.start_mark.line + 1, item) for position, item in enumerate(node.value)]
    for name, line, child in children:
        found.append(((*path, name), line))
        found.extend(lines_of(child, (*path, name), (*inside, node)))
    return found
