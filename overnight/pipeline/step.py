"""What a step's container runs: one command of `overnight`, whose JSON becomes the step's outputs."""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import write_atomically


class StepError(OvernightError):
    """A command that did not print what its step puts out."""


def run_step(arguments: Sequence[str], outputs: Mapping[str, Path]) -> int:
    """Run `overnight ARGUMENTS --json`, pass on what it prints, write its fields into `outputs`; its exit code.

    Nothing is written when the command fails. Raises StepError when a field is not there.
    """
    command = [sys.executable, "-m", "overnight", *arguments]
    if not outputs:
        return subprocess.run(command, check=False).returncode
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, check=False)
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.flush()
    if done.returncode == 0:
        fields = _fields(done.stdout, arguments)
        if missing := [name for name in outputs if name not in fields]:
            raise StepError(f"its JSON has no field {missing[0]!r}", where=_command(arguments))
        for name, path in outputs.items():
            write_atomically(path, _text(fields[name]).encode())
    return done.returncode


def parse_outputs(texts: Sequence[str]) -> dict[str, Path]:
    """`NAME=FILE` of each; raises StepError."""
    outputs = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise StepError(f"{text!r} is no output", where="--output", remedy="write NAME=FILE")
        outputs[name] = Path(path)
    return outputs


def _fields(printed: bytes, arguments: Sequence[str]) -> dict[str, Any]:
    try:
        fields = json.loads(printed)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise StepError("it printed no JSON object", where=_command(arguments))
    return fields


def _command(arguments: Sequence[str]) -> str:
    return f"overnight {shlex.join(arguments)}"


def _text(value: Any) -> str:
    """As KFP reads a parameter of type STRING."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
