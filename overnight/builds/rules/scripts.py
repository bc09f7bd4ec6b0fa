"""Scripts parse and stop at the first failure; what they and args name in the repository is there."""

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from overnight.builds.commands import Command, called, unknown
from overnight.builds.rules.context import Check, Context
from overnight.forms.findings import Finding, error

STRICT = error(
    "script-strict",
    "A script begins with #!/usr/bin/env bash and set -euo pipefail: else only its last command decides.",
    "Cloud Build, Running bash scripts",
)
PARSES = error("script-parses", "A script is bash that parses.", "bash -n")
CALLED = error("script-missing", "A script of the repository that is called is there and may be run.", "docs/builds.md")
FILES = error(
    "file-missing", "A Dockerfile, requirements file or policy folder that is named is there.", "docs/builds.md"
)

STRICT_BEGINNING = re.compile(r"#!/usr/bin/env bash\n(\s*#.*\n)*set -euo pipefail\n")
_MADE = (".venv", "build", "cdktf.out", "dist", "node_modules", "plans")
"""Folders that a build makes."""


def strict(context: Context) -> Iterator[Finding]:
    """Scripts are strict bash that parses."""
    for index, step in enumerate(context.build.steps):
        if "script" not in step:
            continue
        path, script = ("steps", index, "script"), step["script"]
        if re.match(r"#!.*\bpython", script):
            continue
        if (wrong := _unreadable(script)) is not None:
            yield PARSES.at(path, f"this is not bash: {wrong}", "correct it")
        elif not STRICT_BEGINNING.match(script):
            said = "this script goes on after a command that fails"
            yield STRICT.at(path, said, "begin it with #!/usr/bin/env bash and set -euo pipefail")


@functools.lru_cache(maxsize=512)
def _unreadable(script: str) -> str | None:
    """What bash says about a script that does not parse; None too where there is no bash."""
    bash = shutil.which("bash")
    if bash is None:
        return None
    if "\0" in script:
        return "it holds a zero byte"
    checked = subprocess.run(
        [bash, "-n"], input=script.encode(errors="replace"), capture_output=True, check=False, env={"LC_ALL": "C"}
    )
    if checked.returncode == 0:
        return None
    said = checked.stderr.decode(errors="replace").strip().partition("\n")[0]
    return re.sub(r"^.*?line (\d+): ", r"line \1, ", said)


def called_scripts(context: Context) -> Iterator[Finding]:
    """Scripts that are called."""
    if context.root is None:
        return
    seen: set[tuple[object, str]] = set()
    for command in context.commands:
        name = called(command.words)
        if name is None or _made(name) or command.script or (command.path, name) in seen:
            continue
        seen.add((command.path, name))
        file = _inside(context.root, context, command, name)
        if file is None:
            continue
        if not file.is_file():
            yield CALLED.at(command.path, f"the repository has no {name}", "correct the path, or add the script")
        elif command.words[0].endswith(name) and not os.access(file, os.X_OK):
            yield CALLED.at(command.path, f"{name} may not be run", f"chmod +x {name}")


def named_files(context: Context) -> Iterator[Finding]:
    """Files that commands name."""
    if context.root is None:
        return
    seen: set[tuple[object, str]] = set()
    for command in context.commands:
        for name, what in _named(command):
            if unknown(name) or name.startswith(("/", "-")) or not name or _made(name) or (command.path, name) in seen:
                continue
            seen.add((command.path, name))
            file = _inside(context.root, context, command, name)
            if file is None:
                continue
            there = any(file.glob("*.rego")) if what == "policies" else file.is_file()
            if not there:
                yield FILES.at(command.path, f"the repository has no {what} {name}", "correct the path, or add it")


def _named(command: Command) -> Iterator[tuple[str, str]]:
    words = set(command.words)
    if command.name in ("docker", "podman", "buildah") and words & {"build", "bud"}:
        yield from ((name, "Dockerfile") for name in command.values("--file", "-f"))
    if "pip" in words or command.name.startswith("pip"):
        options = ("--requirement", "-r", "--constraint", "-c")
        yield from ((name, "requirements file") for name in command.values(*options))
    if command.name == "conftest":
        yield from ((name, "policies") for name in command.values("--policy", "-p"))


def _inside(root: Path, context: Context, command: Command, name: str) -> Path | None:
    """The file, below the step's own folder; None when that is elsewhere or not known."""
    folder = PurePosixPath(context.build.steps[command.step].get("dir", ""))
    if unknown(str(folder)) or folder.is_absolute() or ".." in folder.parts or "\0" in name:
        return None
    return root / folder / name


def _made(name: str) -> bool:
    return name.removeprefix("./").partition("/")[0] in _MADE


CHECKS: tuple[Check, ...] = (strict, called_scripts, named_files)
