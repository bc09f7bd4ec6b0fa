"""Reading an environment file; what is wrong with it becomes one sentence."""

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from overnight.config.environment import Environment
from overnight.config.mistakes import first_of
from overnight.config.section import ConfigError
from overnight.config.words import mistakes

START = "start from config/example.yaml, or config/local.yaml without Google Cloud"


def load(path: Path) -> Environment:
    """Read and validate an environment file.

    Raises ConfigError naming the file, the field and the remedy.
    """
    return validate(path, read(path))


def read(path: Path) -> dict[str, Any]:
    """The file's fields, not yet validated. Raises ConfigError."""
    data = _parse(path)
    if data is None:
        raise ConfigError("the file is empty", where=str(path), remedy=START)
    if not isinstance(data, dict):
        found = "a list" if isinstance(data, list) else "one value"
        raise ConfigError(
            f"an environment is a mapping of fields, this file holds {found}", where=str(path), remedy=START
        )
    return data


def validate(path: Path, data: dict[str, Any]) -> Environment:
    """The environment that `data` (read from `path`) describes. Raises ConfigError."""
    try:
        return Environment.model_validate(data)
    except ValidationError as error:
        raise first_of(path, mistakes(Environment, error.errors(include_url=False))) from None


class _Constructor(SafeConstructor):
    """YAML's plain types, but a day that does not exist stays text: its field then says so, by name."""

    def construct_day(self, node: Any) -> Any:
        try:
            return self.construct_yaml_timestamp(node)
        except ValueError:
            return node.value


_Constructor.add_constructor("tag:yaml.org,2002:timestamp", _Constructor.construct_day)


def _parse(path: Path) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _Constructor
    try:
        return yaml.load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            "there is no such environment file",
            where=str(path),
            remedy="give one with --config, such as config/local.yaml",
        ) from None
    except OSError as error:
        raise ConfigError(
            f"this cannot be read: {error.strerror}", where=str(path), remedy="give a YAML file"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError("this is not text in UTF-8", where=str(path), remedy="save it as UTF-8") from None
    except YAMLError as error:
        raise _not_yaml(path, error) from None


def _not_yaml(path: Path, error: YAMLError) -> ConfigError:
    if not isinstance(error, MarkedYAMLError) or error.problem is None:
        return ConfigError(
            "this is not YAML: it holds characters that do not print", where=str(path), remedy="remove them"
        )
    where = f"{path} line {error.problem_mark.line + 1}" if error.problem_mark else str(path)
    problem = str(error.problem)
    if isinstance(error, DuplicateKeyError):
        key = re.search(r'duplicate key "(.*?)"', problem)
        name = f", {key[1]}" if key else ""
        return ConfigError("this field appears twice", where=f"{where}{name}", remedy="remove one of them")
    if r"'\t'" in problem:
        return ConfigError("a tab stands where YAML wants spaces", where=where, remedy="indent with spaces")
    if "another document" in problem:
        return ConfigError("a second document begins here", where=where, remedy="keep one, and remove the '---'")
    return ConfigError(f"this is not YAML: {problem}", where=where, remedy="check its indent, quotes and colons")
