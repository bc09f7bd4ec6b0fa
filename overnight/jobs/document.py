"""A YAML file with the line of every field, so that an error can point at it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from overnight.forms.fields import FieldPath, dotted, lines_of
from overnight.jobs.errors import SpecError

__all__ = ["Document", "FieldPath", "dotted", "load_document"]


@dataclass(frozen=True)
class Document:
    """One YAML file: its plain data, and the line (from 1) on which each field begins."""

    path: Path
    data: dict[str, Any]
    lines: dict[FieldPath, int] = field(repr=False)

    def line(self, path: FieldPath) -> int | None:
        """The line of a field, or of its nearest parent that is there."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def where(self, path: FieldPath) -> str:
        """`jobs/local.yaml line 12, customJob.jobSpec`: the line of the field, or of its nearest parent."""
        found = self.line(path)
        line = f" line {found}" if found else ""
        name = dotted(path)
        return f"{self.path}{line}, {name}" if name else f"{self.path}{line}"


def load_document(path: Path) -> Document:
    """Read a YAML mapping; raises SpecError when the file is missing, unreadable or not a mapping."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SpecError(
            "there is no such job spec", where=str(path), remedy="give one such as jobs/local.yaml"
        ) from None
    except IsADirectoryError:
        raise SpecError("this is a folder", where=str(path), remedy="give a file such as jobs/local.yaml") from None
    except UnicodeDecodeError:
        raise SpecError("this is not UTF-8 text", where=str(path)) from None
    try:
        node = YAML(typ="rt", pure=True).compose(text)
        data = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise SpecError(f"this is not YAML: {_reason(error)}", where=str(path), remedy="correct that line") from None
    if not isinstance(data, dict):
        raise SpecError("a job spec must be a mapping of fields", where=str(path), remedy="see jobs/local.yaml")
    return Document(path, data, dict(lines_of(node)))


def _reason(error: YAMLError) -> str:
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        return f"{error.problem or 'unreadable'} at line {error.problem_mark.line + 1}"
    return " ".join(str(error).split())
