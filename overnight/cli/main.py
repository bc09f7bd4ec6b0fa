"""Assemble the `overnight` command and turn errors into one sentence and an exit code."""

import errno
import importlib
import logging
import os
import sys

import typer
from typer.exceptions import TyperException

from overnight.errors import OvernightError

app = typer.Typer(
    name="overnight",
    help="From labelled JPEGs and an edited label table to a promoted, fully explained model version.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# One module a verb group; each has `register(app)`.
VERBS = (
    *("import_", "shards", "snapshot", "image", "build", "pipeline", "job", "run", "model", "predict"),
    *("lineage", "report", "demo", "vertex", "bench"),
)

for _verb in VERBS:
    importlib.import_module(f"overnight.cli.{_verb}").register(app)


def run() -> None:
    """The console script: exit 0, a verb's own code, or 2 with one sentence."""
    logging.basicConfig(level=logging.ERROR)
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except TyperException as error:
        _fail_usage(error)
    except OvernightError as error:
        _fail(error.sentence, error.exit_code)
    except OSError as error:
        _fail(_os_sentence(error), 2)
    except KeyboardInterrupt:
        _fail("Interrupted; nothing half written was kept.", 130)


def _fail_usage(error: TyperException) -> None:
    """A command line that cannot be parsed: what is wrong, and where its help is."""
    message = error.format_message().rstrip(".")
    if "\n" in message:  # a verb without its command: the message is the help itself
        typer.echo(message)
        sys.exit(2)
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "overnight"
    _fail(f"{message}; see: {command} --help", 2)


def _fail(sentence: str, code: int) -> None:
    typer.echo(f"overnight: {sentence}", err=True)
    sys.exit(code)


def _os_sentence(error: OSError) -> str:
    where = f"{error.filename}: " if error.filename else ""
    remedies = {
        errno.ENOSPC: "; free some space or move `root` to another disk",
        errno.EDQUOT: "; free some space or move `root` to another disk",
        errno.EFBIG: "; free some space or move `root` to another disk",
        errno.EACCES: "; give this user permission",
        errno.EPERM: "; give this user permission",
        errno.EROFS: "; use a folder that can be written",
    }
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    return f"{where}{reason}{remedies.get(error.errno or 0, '')}."


if __name__ == "__main__":
    run()
