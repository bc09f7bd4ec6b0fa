"""What a request has that the spec does not say: one line a field."""

import json
from collections.abc import Iterator
from typing import Any

from overnight.jobs.document import Document, FieldPath, dotted
from overnight.jobs.request import Request, normal


def added(document: Document, request: Request) -> list[str]:
    """`field = value` for what was added, `field = value (spec: value)` for what differs, `field: left out`."""
    own = dict(_leaves(normal(request.kind, document.data[request.kind]), ()))
    sent = dict(_leaves(request.job, ()))
    lines = [f"parent = {json.dumps(request.parent)}"]
    for path, value in sent.items():
        if own.get(path) != value:
            was = f" (spec: {json.dumps(own[path])})" if path in own else ""
            lines.append(f"{dotted((request.kind, *path))} = {json.dumps(value, ensure_ascii=False)}{was}")
    lines += [f"{dotted((request.kind, *path))}: left out" for path in own if path not in sent]
    return lines


def _leaves(value: Any, path: FieldPath) -> Iterator[tuple[FieldPath, Any]]:
    """Every scalar with its path; the items of `env` under their names."""
    if isinstance(value, dict):
        # A map comes out of a protobuf message in no order.
        for name, item in sorted(value.items()) if path[-1:] == ("labels",) else value.items():
            yield from _leaves(item, (*path, name))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            named = path[-1] == "env" and isinstance(item, dict)
            yield from [((*path, item["name"]), item.get("value", ""))] if named else _leaves(item, (*path, position))
    else:
        yield path, value
