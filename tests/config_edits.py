"""Environment files made from config/example.yaml by one change each."""

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

EXAMPLE = Path(__file__).parents[1] / "config" / "example.yaml"
TODAY = "2026-11-30"
"""What the example's dates are compared with."""

Edit = Callable[[str], str]
"""The file's text before and after."""

PERSISTENT = "google.persistent_resources[0]"
POOL = f"{PERSISTENT}.resource_pools[0]"
MACHINE = f"{POOL}.machine_spec"


def put(field: str, value: Any) -> Edit:
    """Give a field, such as `google.persistent_resources[0].name`, another value."""
    return _edited(field, lambda holder, name: holder.__setitem__(name, value))


def drop(field: str) -> Edit:
    """Leave a field out."""
    return _edited(field, lambda holder, name: holder.__delitem__(name))


def text(old: str, new: str) -> Edit:
    """Change what is written, where YAML itself matters."""

    def edit(content: str) -> str:
        assert old in content
        return content.replace(old, new, 1)

    return edit


def both(*edits: Edit) -> Edit:
    """One after the other."""

    def edit(content: str) -> str:
        for each in edits:
            content = each(content)
        return content

    return edit


def gpu(machine_type: str, accelerator_type: str | None, count: int | None, disk: str = "pd-ssd") -> Edit:
    """Other machines in the example's pool."""
    spec = {"machine_type": machine_type, "accelerator_type": accelerator_type, "accelerator_count": count}
    return both(put(MACHINE, spec), put(f"{POOL}.disk_spec.boot_disk_type", disk))


def in_region(region: str) -> Edit:
    """The whole environment in another region."""
    return both(put("google.allowed_regions", []), lambda content: content.replace("us-central1", region))


def write(path: Path, *edits: Edit) -> Path:
    """The example with these changes, at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(both(*edits)(EXAMPLE.read_text(encoding="utf-8")), encoding="utf-8")
    return path


def _edited(field: str, change: Callable[[Any, int | str], None]) -> Edit:
    *before, last = [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field)]

    def edit(content: str) -> str:
        data = holder = YAML(typ="safe", pure=True).load(content)
        for part in before:
            holder = holder[part]
        change(holder, last)
        return _dumped(data)

    return edit


def _dumped(data: Any) -> str:
    stream = StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.dump(data, stream)
    return stream.getvalue()
