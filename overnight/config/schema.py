"""What the schema has at one location of an environment file: its kind, its words, its names."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

KEY = "[key]"
"""How pydantic says that not a value but its key is meant."""


@dataclass(frozen=True)
class Spot:
    """What stands at a location of the file."""

    kind: Any
    """A type without Annotated and Optional."""
    description: str | None
    """Which values fit, to be read after "give"."""

    @property
    def names(self) -> list[str]:
        """Fields of a section, keys of a mapping with fixed keys; empty for anything else."""
        if isinstance(self.kind, type) and issubclass(self.kind, BaseModel):
            return list(self.kind.model_fields)
        if get_origin(self.kind) is dict:
            return [str(key) for key in get_args(get_args(self.kind)[0])]
        return []

    @property
    def choices(self) -> list[Any]:
        """The values of a Literal; empty for anything else."""
        return list(get_args(self.kind)) if get_origin(self.kind) is Literal else []

    @property
    def item(self) -> "Spot":
        """What stands in a list, or as a value of a mapping."""
        return _step(self.kind, 0)


def spot(root: type[BaseModel], location: Sequence[int | str]) -> Spot:
    """Follow a location such as ("google", "persistent_resources", 0, "name") from `root`."""
    found = Spot(root, None)
    for part in location:
        found = _step(found.kind, part)
    return found


def field_name(location: Sequence[int | str]) -> str:
    """A location as people write it: `google.persistent_resources[0].name`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if part != KEY)
    return text.removeprefix(".")


def _step(kind: Any, part: int | str) -> Spot:
    if isinstance(kind, type) and issubclass(kind, BaseModel) and part in kind.model_fields:
        field = kind.model_fields[str(part)]
        return _plain(field.annotation, field.description)
    if get_origin(kind) is list:
        return _plain(get_args(kind)[0])
    if get_origin(kind) is dict:
        return Spot(kind, None) if part == KEY else _plain(get_args(kind)[1])
    return Spot(kind if part == KEY else None, None)


def _plain(annotation: Any, description: str | None = None) -> Spot:
    if get_origin(annotation) is Annotated:
        inner, *extras = get_args(annotation)
        words = (extra.description for extra in extras if isinstance(extra, FieldInfo))
        return _plain(inner, description or next((text for text in words if text), None))
    if get_origin(annotation) in (Union, UnionType):
        return _plain(next(part for part in get_args(annotation) if part is not NoneType), description)
    return Spot(annotation, description)
