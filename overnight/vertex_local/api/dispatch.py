"""One entry for both wires: names checked, then the method's handler."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from overnight.vertex_local.api.errors import invalid_fields, unimplemented
from overnight.vertex_local.api.methods import Method, load_methods, pattern_of
from overnight.vertex_local.api.projects import Projects

Handler = Callable[[Any], Any]
"""From the request's protobuf message to the response's (for a streaming method: to an iterator of them)."""

_VARIABLE = re.compile(r"\{([\w.]+)=([^}]*)\}")


class Api:
    """The methods and who answers them."""

    def __init__(self, handlers: Mapping[str, Handler], projects: Projects, locations: tuple[str, ...] = ()) -> None:
        """`handlers` by `Service/Method`; `locations` that are served, empty for any. Raises ValueError for a key
        that is no method of the API."""
        self.methods = load_methods()
        known = {method.key for method in self.methods.values()}
        strange = sorted(set(handlers) - known)
        if strange:
            raise ValueError(f"these are no methods of the API: {', '.join(strange)}")
        self._handlers = dict(handlers)
        self._projects = projects
        self._locations = locations

    def call(self, path: str, request: Any) -> Any:
        """Answer one request; raises ApiError. The request's names may be rewritten (project number for id)."""
        method = self.methods.get(path)
        handler = self._handlers.get(method.key) if method else None
        if method is None or handler is None:
            raise unimplemented(path.rsplit(".", 1)[-1])
        self._projects.rewrite(request)
        self._check_names(method, request)
        return handler(request)

    def _check_names(self, method: Method, request: Any) -> None:
        """Names in the request must look like those in the method's URL, and lie in a region that is served."""
        alternatives = _names(method)
        if alternatives and not any(_fits(request, names) for names in alternatives):
            field, template, _ = next(name for name in alternatives[0] if not _fits(request, (name,)))
            says = (
                f"Invalid resource name; expected {template}."
                if _value(request, field)
                else "Required field is not set."
            )
            raise invalid_fields({field: says})
        for field, _, _ in alternatives[0] if alternatives else ():
            parts = _value(request, field).split("/")
            if self._locations and len(parts) > 3 and parts[3] not in self._locations:
                raise invalid_fields(
                    {field: f"Location {parts[3]} is not served; served are {', '.join(self._locations)}."}
                )


NameRule = tuple[str, str, re.Pattern[str]]
"""Field path, template, compiled template."""


@cache
def _names(method: Method) -> tuple[tuple[NameRule, ...], ...]:
    """For each way to call the method, the names that stand in its URL."""
    return tuple(tuple(_variables(rule.uri)) for rule in method.rules)


def _variables(uri: str) -> Iterator[NameRule]:
    for field, template in _VARIABLE.findall(uri):
        yield field, template, re.compile(pattern_of(template))


def _fits(request: Any, names: tuple[NameRule, ...]) -> bool:
    return all(pattern.fullmatch(_value(request, field)) for field, _, pattern in names)


def _value(request: Any, field: str) -> str:
    value = request
    for part in field.split("."):
        value = getattr(value, part)
    return str(value)
