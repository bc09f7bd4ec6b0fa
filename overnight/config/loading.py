"""Reading an environment file; what is wrong with it becomes one sentence."""

import difflib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from overnight.config.environment import Environment
from overnight.config.section import ConfigError


def load(path: Path) -> Environment:
    """Read and validate an environment file.

    Raises ConfigError naming the file, the field and the remedy.
    """
    try:
        data = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            "there is no such environment file",
            where=str(path),
            remedy="give one with --config, such as config/local.yaml",
        ) from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"this is not YAML: {' '.join(str(error).split())}", where=str(path)) from None
    if not isinstance(data, dict):
        raise ConfigError("an environment file must be a mapping of fields", where=str(path))
    try:
        return Environment.model_validate(data)
    except ValidationError as error:
        raise _explain(path, error) from None


def _explain(path: Path, error: ValidationError) -> ConfigError:
    # A misspelt required field is both unknown and missing: the spelling is what to tell.
    first = min(error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden")
    field = ".".join(str(part) for part in first["loc"]) or "the file"
    if first["type"] == "extra_forbidden":
        known = _fields(Environment, first["loc"][:-1])
        close = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known fields: {', '.join(sorted(known))}"
        return ConfigError("unknown field", where=f"{path}, {field}", remedy=hint)
    if first["type"] == "missing":
        return ConfigError("this field is missing", where=f"{path}, {field}", remedy="add it")
    message = first["msg"].removeprefix("Value error, ")
    return ConfigError(f"{message} (found {first['input']!r})", where=f"{path}, {field}", remedy="correct the value")


def _fields(model: type[BaseModel], location: tuple[Any, ...]) -> list[str]:
    for part in location:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)
