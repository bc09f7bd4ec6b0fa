"""From an HTTP request to a method's message and back (google.api.http, proto3 JSON)."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from google.protobuf import json_format

from overnight.vertex_local.api.errors import ApiError, invalid, unimplemented
from overnight.vertex_local.api.methods import Method, pattern_of

_VARIABLE = re.compile(r"\{([\w.]+)=([^}]*)\}")

SYSTEM_PARAMETERS = frozenset(
    ("alt", "access_token", "callback", "fields", "key", "oauth_token", "prettyPrint", "quotaUser", "uploadType")
)
"""Query parameters of every Google API (cloud.google.com/apis/docs/system-parameters); as `$…` too. Ignored."""


@dataclass(frozen=True)
class Route:
    """One HTTP rule, ready to be matched."""

    verb: str
    pattern: re.Pattern[str]
    variables: tuple[str, ...]
    """The request fields that the pattern's groups hold."""
    body: str
    method: Method


class Routes:
    """All rules; finds the one of a request."""

    def __init__(self, methods: Mapping[str, Method]) -> None:
        made = [_route(method, rule.verb, rule.uri, rule.body) for method in methods.values() for rule in method.rules]
        # A custom verb (`…:cancel`) also looks like the end of an id: the more particular rules come first.
        made.sort(key=lambda route: ":" not in route.pattern.pattern)
        self._by_verb: dict[str, list[Route]] = {}
        for route in made:
            self._by_verb.setdefault(route.verb, []).append(route)

    def find(self, verb: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route and the values of its variables; raises ApiError UNIMPLEMENTED when there is none."""
        for route in self._by_verb.get(verb, ()):
            match = route.pattern.fullmatch(path)
            if match:
                return route, dict(zip(route.variables, map(unquote, match.groups()), strict=True))
        raise unimplemented(f"{verb} {path}")


def _route(method: Method, verb: str, uri: str, body: str) -> Route:
    pieces, variables, at = [], [], 0
    for match in _VARIABLE.finditer(uri):
        pieces += [re.escape(uri[at : match.start()]), f"({pattern_of(match[2])})"]
        variables.append(match[1])
        at = match.end()
    return Route(verb, re.compile("".join(pieces) + re.escape(uri[at:])), tuple(variables), body, method)


def to_request(route: Route, path: Mapping[str, str], query: Sequence[tuple[str, str]], body: bytes) -> Any:
    """The method's request message; raises ApiError INVALID_ARGUMENT in Google's words."""
    request = route.method.request()
    content = _body(route, body)
    try:
        json_format.ParseDict(content, request)
        for name, value in query:
            if not name.startswith("$") and name not in SYSTEM_PARAMETERS:
                _bind(request, name, value)
    except json_format.ParseError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from None
    for name, value in path.items():
        owner, field = _owner(request, name)
        setattr(owner, field.name, value)
    return request


def to_json(message: Any) -> bytes:
    """A response as Google's REST answers it: camelCase, enums by name, default values left out."""
    return json.dumps(json_format.MessageToDict(message), indent=2, ensure_ascii=False).encode() + b"\n"


def _body(route: Route, body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise invalid(f"Invalid JSON payload received. {error}") from None
    if not isinstance(content, dict):
        raise invalid("Invalid JSON payload received. Root element must be a message.")
    if not route.body:
        raise invalid("Invalid JSON payload received. This method takes no body.")
    return content if route.body == "*" else {route.body: content}


def _bind(request: Any, name: str, value: str) -> None:
    """Set one query parameter; dotted names lead into messages."""
    try:
        owner, field = _owner(request, name)
    except ApiError:
        raise invalid(
            f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. '
            f"Field '{name}' could not be found in request message."
        ) from None
    if field.message_type is not None and field.message_type.full_name == "google.protobuf.FieldMask":
        getattr(owner, field.name).paths.extend(_snake(path.strip()) for path in value.split(",") if path.strip())
        return
    single: Any = value
    if field.type == field.TYPE_BOOL:
        if value.lower() not in ("true", "false"):
            raise invalid(f"Invalid value at '{name}' (TYPE_BOOL), \"{value}\"")
        single = value.lower() == "true"
    json_format.ParseDict({field.name: [single] if field.is_repeated else single}, owner)


def _owner(request: Any, path: str) -> tuple[Any, Any]:
    """The message that holds the field at `path`, and the field's descriptor."""
    *way, last = path.split(".")
    owner = request
    for part in way:
        field = _field(owner, part)
        if field.message_type is None or field.is_repeated:
            raise invalid(f"{path} is not a field.")
        owner = getattr(owner, field.name)
    return owner, _field(owner, last)


def _field(message: Any, name: str) -> Any:
    descriptor = message.DESCRIPTOR
    found = descriptor.fields_by_camelcase_name.get(name) or descriptor.fields_by_name.get(name)
    if found is None:
        raise invalid(f"{name} is not a field.")
    return found


def _snake(path: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), path)
