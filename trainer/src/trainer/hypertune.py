"""A trial of a Vertex AI tuning study: its parameters come in as arguments, its metric goes out in a file.

The file's format is that of the package cloudml-hypertune on PyPI.
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trainer.config import RunConfig
from trainer.errors import ConfigError
from trainer.fields import flat, plain

DEFAULT_METRIC_FILE = "/tmp/hypertune/output.metrics"
_LINES_KEPT = 100
_SHORT_NAMES = {"lr": "optimizer.learning_rate"}
_OPEN_TABLES = ("model.arguments.",)
"""Fields below these are the model function's own."""


def report_metric(
    environment: Mapping[str, str], tag: str, value: float, step: int, timestamp: float, checkpoint: str = ""
) -> None:
    """Append one line to CLOUD_ML_HP_METRIC_FILE; value and step are strings there, and the last 100 lines stay.

    Does nothing outside a trial: where neither that variable nor CLOUD_ML_TRIAL_ID is set. `tag` must be the study's
    metricId. Only rank 0 may call this. Raises OSError.
    """
    name = environment.get("CLOUD_ML_HP_METRIC_FILE")
    if not name and not environment.get("CLOUD_ML_TRIAL_ID"):
        return
    path = Path(name or DEFAULT_METRIC_FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text().splitlines() if path.exists() else []
    line = {
        "timestamp": timestamp,
        "trial": environment.get("CLOUD_ML_TRIAL_ID", "0"),
        tag: str(value),
        "global_step": str(step),
        "checkpoint_path": checkpoint,
    }
    lines = [*lines, json.dumps(line)][-_LINES_KEPT:]
    temporary = path.with_name(f"{path.name}.tmp")
    temporary.write_text("\n".join(lines) + "\n")
    temporary.replace(path)


def parameter_settings(arguments: Sequence[str]) -> list[str]:
    """`--parameterId=value` of a trial as `section.field=value`, as `--set` takes it.

    A parameterId is a field's full name (`optimizer.learning_rate`), its last part where only one field ends so
    (`learning_rate`), or `lr`; `-` counts as `_`. Raises ConfigError for anything else.
    """
    return list(_settings(arguments))


def _settings(arguments: Sequence[str]) -> Iterator[str]:
    defaults = flat(plain(RunConfig()))
    names = _names(defaults)
    for argument in arguments:
        option, separator, text = argument.partition("=")
        parameter = option.removeprefix("--")
        if not option.startswith("--") or not separator or not parameter:
            raise ConfigError("this argument is not known", where=argument, remedy="write --field=value, or see --help")
        name = parameter.replace("-", "_")
        if not name.startswith(_OPEN_TABLES):
            if name not in names:
                raise ConfigError("no field has this name", where=option, remedy=_hint(name, names))
            name = names[name]
        whole = isinstance(defaults.get(name), int) and not isinstance(defaults.get(name), bool)
        yield f"{name}={_without_fraction(text) if whole else text}"


def _names(fields: Mapping[str, object]) -> dict[str, str]:
    """Every name that a field goes by."""
    last_parts = [name.rpartition(".")[2] for name in fields]
    short = {name.rpartition(".")[2]: name for name in fields if last_parts.count(name.rpartition(".")[2]) == 1}
    return {**short, **_SHORT_NAMES, **{name: name for name in fields}}


def _without_fraction(text: str) -> str:
    """A discrete parameter is a double in the API: 256 may arrive as 256.0."""
    head, dot, tail = text.partition(".")
    return head if dot and tail.strip("0") == "" else text


def _hint(name: str, names: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean --{close[0]}?" if close else "use a field of trainer.config.RunConfig as parameterId"
