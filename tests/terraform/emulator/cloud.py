"""The emulated project: a JSON file of objects by type and id. Edit it between two plans and Terraform sees drift.

Two keys are no types. "//switches" changes how the emulator behaves while it runs; "//project" says which project it
is. A lock on the file keeps the emulator and a test's edits apart.
"""

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SWITCHES, PROJECT = "//switches", "//project"
Contents = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Switches:
    """How the emulator behaves."""

    strict: bool = False
    """Refuse what the API would refuse for something that is not there yet."""
    fail: list[str] = field(default_factory=list)
    """`type:operation:message`, or `type~text:operation:message` for objects that mention the text; `once:` before
    it lets the next attempt through. Operations: create, read, update, delete, import."""
    enable_seconds: float = 0.4
    """How long strict mode takes to enable a service, to make an account or an agent: so long that nothing that
    should have waited for it comes later by luck."""
    create_seconds: float = 0.1
    """How long strict mode takes to create anything else."""
    made_by_hand: dict[str, list[str]] = field(default_factory=dict)
    """Type to ids of what exists without Terraform, such as secrets and the state's bucket."""


def read_switches(contents: Contents) -> Switches:
    """The switches in the file; their defaults where it has none."""
    return Switches(**contents.get(SWITCHES, {}))


def write_switches(contents: Contents, switches: Switches) -> None:
    """Put the switches into the file's contents."""
    contents[SWITCHES] = asdict(switches)


def project(contents: Contents, settings: Mapping[str, Any]) -> dict[str, str]:
    """The project's id and number: the file's own, or the provider's project with a made-up number."""
    return {"project_id": str(settings.get("project")), "number": "100000000000", **contents.get(PROJECT, {})}


def objects(contents: Contents, resource_type: str) -> dict[str, dict[str, Any]]:
    """The type's objects by id, to read or to change."""
    found: dict[str, dict[str, Any]] = contents.setdefault(resource_type, {})
    return found


_parsed: dict[Path, tuple[str, Contents]] = {}
"""Each file's text as it was last seen, and its contents: a plan reads hundreds of objects, one after the other."""


@contextmanager
def opened(path: Path) -> Iterator[Contents]:
    """The file's contents under its lock; written back when they were changed and nothing was raised."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        # Taken out: what was half changed when something was raised must not be seen again.
        contents = _contents(*_parsed.pop(path, ("{}", {})), text)
        yield contents
        changed = _text(contents)
        if changed != text:
            file.truncate(0)
            file.write(changed)
        _parsed[path] = (changed, contents)


@contextmanager
def reading(path: Path) -> Iterator[Contents]:
    """The file's contents under its lock, not to be changed."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        contents = _contents(*_parsed.get(path, ("{}", {})), text)
        _parsed[path] = (text, contents)
        yield contents


def _contents(before: str, contents: Contents, text: str) -> Contents:
    """`contents` if `text` is still what they were read from."""
    if before == text:
        return contents
    loaded: Contents = json.loads(text or "{}")
    return loaded


def _text(contents: Contents) -> str:
    """One object a line, in a fixed order."""
    kinds = (f"{json.dumps(kind)}: {_lines(contents[kind])}" for kind in sorted(contents))
    return "{" + ",\n".join(kinds) + "}\n"


def _lines(found: dict[str, Any]) -> str:
    lines = (f"{json.dumps(name)}: {json.dumps(found[name], sort_keys=True)}" for name in sorted(found))
    return "{" + ",\n ".join(lines) + "}"


def injected_failure(contents: Contents, operation: str, resource_type: str, value: Any) -> str | None:
    """The message of a failure that was asked for; one asked for once is taken off the list."""
    listed: list[str] = contents.get(SWITCHES, {}).get("fail", [])
    for entry in listed:
        where, wanted, message = entry.removeprefix("once:").split(":", 2)
        wanted_type, _, text = where.partition("~")
        if (wanted_type, wanted) == (resource_type, operation) and text in json.dumps(value, default=repr):
            if entry.startswith("once:"):
                listed.remove(entry)
            return message
    return None
