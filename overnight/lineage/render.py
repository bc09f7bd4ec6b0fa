"""An audit and an answer as text for a person."""

from typing import Any

from rich.text import Text
from rich.tree import Tree

from overnight.lineage.tree import Node, flat

_MANY = 8
"""Sound tars that are listed one by one."""


def tree_of(node: Node) -> Tree:
    """The audit as a tree: one line a thing, its facts beside it, problems and notes below it."""
    tree = Tree(_line(node))
    _fill(tree, node)
    return tree


def answer_lines(answer: dict[str, Any]) -> list[Text]:
    """The answer about a day, one fact a line."""
    until, next_version = answer["champion_until"], answer["replaced_by"]
    end = f"{until} (then version {next_version})" if until else "now"
    git = answer["git"]
    commit = f"{git['commit']}{' with uncommitted changes' if git['dirty'] else ''}" if git else "none"
    shown = {
        "model": f"{answer['model']}:{answer['version']}",
        "champion": f"{answer['champion_from']} to {end}",
        "reason": answer["reason"],
        "run": answer["run_id"],
        "weights": f"sha256 {answer['weights_sha256']}",
        **_what_ran(answer),
        "git commit": commit,
        "snapshot": f"{answer['snapshot']['name']} (sha256 {answer['snapshot']['sha256']})",
        "label table": answer["label_table"]["snapshot_table"],
        "shard set": f"{answer['shard_set']['name']} (sha256 {answer['shard_set']['sha256']})",
        "seed": answer["seed"],
        "metrics": _pairs(answer["metrics"]),
        "hyperparameters": _pairs(answer["hyperparameters"] or {}),
    }
    return [Text.assemble((f"{name:<16}", "bold"), str(value)) for name, value in shown.items()]


def _what_ran(answer: dict[str, Any]) -> dict[str, str]:
    if not answer["images"]:
        return {"environment": f"sha256 {answer['environment_sha256']} (processes of this machine, no image)"}
    shown = {"images": ", ".join(answer["images"])}
    image = answer["trainer_image"]
    if image is None:
        return {**shown, "environment": f"sha256 {answer['environment_sha256']} (no training told of an image)"}
    shown["trainer image"] = " ".join(str(image[name]) for name in ("name", "digest") if image[name]) or "not known"
    shown["image commit"] = f"{image['revision']} of {image['source']}" if image["revision"] else "not known"
    return shown


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}" for name, value in flat(values)
    )


def _fill(tree: Tree, node: Node) -> None:
    for problem in node.problems:
        tree.add(Text(problem, "red"))
    for note in node.notes:
        tree.add(Text(note, "dim"))
    sound = [child for child in node.children if child.kind == "tar" and not child.problems]
    hidden = sound[_MANY:]
    for child in node.children:
        if child not in hidden:
            _fill(tree.add(_line(child)), child)
    if hidden:
        tree.add(Text(f"✓ and {len(hidden)} more tars", "dim"))


def _line(node: Node) -> Text:
    mark = ("✗ ", "red") if node.problems else ("✓ ", "green")
    facts = "  ".join(f"{name} {_cut(value)}" for name, value in node.facts)
    return Text.assemble(mark, (f"{node.kind} ", "bold"), node.name, (f"  {facts}" if facts else "", "dim"))


def _cut(value: str) -> str:
    if len(value) == 64:
        return value[:12]
    return value if len(value) <= 60 else f"{value[:59]}…"
