"""Typed configuration: nested frozen dataclasses from plain mappings and back, every mistake one sentence."""

import dataclasses
import difflib
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from trainer.errors import ConfigError

T = TypeVar("T")


def require(ok: bool, field: str, value: object, remedy: str) -> None:
    """Raise ConfigError naming the field, its value and what to do, unless `ok`."""
    if not ok:
        raise ConfigError(f"{value!r} is not possible here", where=field, remedy=remedy)


def build(kind: type[T], values: Mapping[str, Any], where: str = "") -> T:
    """A dataclass `kind` from a mapping as TOML or JSON gives it; missing fields keep their defaults.

    Raises ConfigError for unknown fields (with the nearest known one) and for wrong types.
    """
    hints = get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for name in values:
        if name not in known:
            raise _unknown(f"{where}{name}", name, known)
    return kind(**{name: _convert(hints[name], value, f"{where}{name}") for name, value in values.items()})


def plain(value: Any) -> Any:
    """A dataclass as JSON has it: mappings, lists, scalars."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def overlay(
    base: Mapping[str, Any], changes: Mapping[str, Any], whole: Collection[str] = (), where: str = ""
) -> dict[str, Any]:
    """`base` with `changes` laid over it, section by section; tables named in `whole` are replaced as they are."""
    merged = dict(base)
    for name, value in changes.items():
        below, path = merged.get(name), f"{where}{name}"
        if isinstance(below, Mapping) and isinstance(value, Mapping) and path not in whole:
            value = overlay(below, value, whole, f"{path}.")
        merged[name] = value
    return merged


def with_value(base: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """`base` with the one field at `path` set, whatever stood there."""
    if len(path) == 1:
        return {**base, path[0]: value}
    below = base.get(path[0])
    return {**base, path[0]: with_value(below if isinstance(below, Mapping) else {}, path[1:], value)}


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            result |= flat(value, f"{prefix}{name}.")
        else:
            result[f"{prefix}{name}"] = value
    return result


def _unknown(where: str, name: str, known: set[str]) -> ConfigError:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known fields: {', '.join(sorted(known))}"
    return ConfigError("unknown field", where=where, remedy=hint)


def _convert(hint: Any, value: Any, where: str) -> Any:
    origin = get_origin(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, Mapping):
            raise _wrong(where, value, "a section of fields")
        return build(hint, value, f"{where}.")
    if origin is Literal:
        choices = get_args(hint)
        if value not in choices:
            raise _wrong(where, value, "one of " + ", ".join(repr(choice) for choice in choices))
        return value
    if origin is tuple:
        return _convert_tuple(get_args(hint), value, where)
    if origin in (typing.Union, types.UnionType):
        inner = [choice for choice in get_args(hint) if choice is not type(None)]
        return None if value is None else _convert(inner[0], value, where)
    if origin is dict or origin is not None:
        if not isinstance(value, Mapping):
            raise _wrong(where, value, "a table of names and values")
        return dict(value)
    return _convert_scalar(hint, value, where)


def _convert_tuple(kinds: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise _wrong(where, value, "a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if len(kinds) != len(value):
        raise _wrong(where, value, f"a list of {len(kinds)} values")
    return tuple(_convert(kind, item, where) for kind, item in zip(kinds, value, strict=True))


def _convert_scalar(hint: Any, value: Any, where: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool)):
        names = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
        raise _wrong(where, value, names.get(hint, hint.__name__))
    return value


def _wrong(where: str, value: object, wanted: str) -> ConfigError:
    return ConfigError(f"{value!r} is not possible here", where=where, remedy=f"give {wanted}")
