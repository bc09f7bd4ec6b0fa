"""The answer of an audit: a tree of things, each with what is known about it and what is wrong with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.files import sha256_file


@dataclass(frozen=True)
class Node:
    """One thing that took part in making a model: a version, a run, a snapshot, a tar …"""

    kind: str
    name: str
    facts: tuple[tuple[str, str], ...] = ()
    """What is known, as (name, value)."""
    problems: tuple[str, ...] = ()
    """What is missing or altered: whole sentences that name the file or the table."""
    notes: tuple[str, ...] = ()
    """What could not be checked here, and why."""
    children: tuple["Node", ...] = ()
    """What it was made from."""


def all_problems(node: Node) -> Iterator[str]:
    """The problems of the whole tree, from the top down."""
    yield from node.problems
    for child in node.children:
        yield from all_problems(child)


def to_plain(node: Node) -> dict[str, Any]:
    """The tree as JSON data."""
    return {
        "kind": node.kind,
        "name": node.name,
        "facts": dict(node.facts),
        "problems": list(node.problems),
        "notes": list(node.notes),
        "inputs": [to_plain(child) for child in node.children],
    }


def flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of nested mappings, sorted, each under its dotted name."""
    for name, value in sorted(values.items()):
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def missing(path: Path) -> str:
    """The sentence for a file or folder that was recorded and is gone."""
    return f"{path} is missing."


def altered(path: Path, recorded: str, found: str) -> str:
    """The sentence for a file that is not what was recorded."""
    return f"{path} was altered: recorded {recorded}, found {found}."


def digest_problems(path: Path, sha256: str) -> tuple[str, ...]:
    """Why the file is not the one with this digest: empty when it is."""
    if not path.is_file():
        return (missing(path),)
    found = sha256_file(path)
    return () if found == sha256 else (altered(path, f"sha256 {sha256[:12]}", f"sha256 {found[:12]}"),)


def size_problems(path: Path, size: int) -> tuple[str, ...]:
    """Why the file is not one of `size` bytes: empty when it is."""
    if not path.is_file():
        return (missing(path),)
    found = path.stat().st_size
    return () if found == size else (altered(path, f"{size:,} bytes", f"{found:,} bytes"),)


def content_problems(path: Path, size: int, sha256: str, deep: bool) -> tuple[str, ...]:
    """`size_problems`, and with `deep` also `digest_problems`: reading terabytes is asked for, never a surprise."""
    return size_problems(path, size) or (digest_problems(path, sha256) if deep else ())
