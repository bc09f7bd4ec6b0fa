"""`python -m infra [--config FILE] [--output FOLDER]`: write the stacks as Terraform JSON, without the Node CLI.

`cdktf` runs the same command (cdktf.json); the file then comes from OVERNIGHT_CONFIG.
"""

import argparse
import os
import sys
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NoReturn

from infra.settings import Settings, idle_notes, settings
from infra.siblings import siblings
from overnight.config import load
from overnight.errors import OvernightError

DEFAULT_CONFIG = "config/example.yaml"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, as for every other mistake, instead of the usage."""
        raise OvernightError(message, remedy=f"{self.prog} --help lists the options")


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0, or 2 with one sentence on standard error."""
    try:
        options = _parser().parse_args(arguments)
        checked = _check(options.config, _day(options.now))
        if options.check:
            print(f"{options.config}: the environment {checked.environment!r} holds together")
        else:
            synthesize(checked, options.output)
    except OvernightError as error:
        print(f"infra: {error.sentence}", file=sys.stderr)
        return error.exit_code
    return 0


def synthesize(checked: Settings, output: Path) -> None:
    """Write the stacks under `output`. The framework is imported only now: a mistake is told before it starts."""
    _make_writable(output)
    from infra.app import build

    build(checked, output).synth()


def _parser() -> _Parser:
    parser = _Parser(prog="python -m infra", description="Write the stacks as Terraform JSON.", allow_abbrev=False)
    parser.add_argument(
        "--config",
        type=Path,
        default=Path(os.environ.get("OVERNIGHT_CONFIG") or DEFAULT_CONFIG),
        help="the environment file (also OVERNIGHT_CONFIG)",
    )
    # cdktf tells its app the folder in CDKTF_OUTDIR.
    parser.add_argument(
        "--output", type=Path, default=Path(os.environ.get("CDKTF_OUTDIR") or "cdktf.out"), help="the folder to write"
    )
    parser.add_argument(
        "--now",
        default=os.environ.get("OVERNIGHT_NOW") or None,
        help="the day, or time in UTC, that dates in the file are compared with (also OVERNIGHT_NOW; default: today)",
    )
    parser.add_argument("--check", action="store_true", help="only check the environment; write nothing")
    return parser


def _check(config: Path, today: date) -> Settings:
    """The environment, checked as a whole; what is worth knowing goes to standard error."""
    environment = load(config)
    beside = siblings(config)
    checked = settings(environment, config, today=today, beside=beside)
    for note in (*beside.notes, *idle_notes(checked)):
        print(f"infra: {note}", file=sys.stderr)
    return checked


def _day(now: str | None) -> date:
    """`--now` as a day in UTC."""
    if now is None:
        return datetime.now(UTC).date()
    try:
        moment = datetime.fromisoformat(now)
    except ValueError:
        raise OvernightError(f"{now!r} is not a day", where="--now", remedy="write it like 2026-11-30") from None
    return moment.astimezone(UTC).date() if moment.tzinfo else moment.date()


def _make_writable(output: Path) -> None:
    """Create the folder and try it: the framework would answer with a traceback from another language."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=output):
            pass
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise OvernightError(
            f"this folder cannot be written ({reason})", where=f"--output {output}", remedy="give another"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
