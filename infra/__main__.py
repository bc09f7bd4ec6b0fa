"""`python -m infra [--config FILE] [--output FOLDER]`: write the stacks as Terraform JSON, without the Node CLI.

`cdktf` runs the same command (cdktf.json); the file then comes from OVERNIGHT_CONFIG.
"""

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from overnight.config import load
from overnight.errors import OvernightError

DEFAULT_CONFIG = "config/example.yaml"


def main(arguments: list[str] | None = None) -> int:
    """Returns the exit code: 0, or 2 with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python -m infra", description="Write the stacks as Terraform JSON.")
    parser.add_argument(
        "--config",
        type=Path,
        default=Path(os.environ.get("OVERNIGHT_CONFIG", DEFAULT_CONFIG)),
        help="the environment file (also OVERNIGHT_CONFIG)",
    )
    # cdktf tells its app the folder in CDKTF_OUTDIR.
    parser.add_argument(
        "--output", type=Path, default=Path(os.environ.get("CDKTF_OUTDIR", "cdktf.out")), help="the folder to write"
    )
    options = parser.parse_args(arguments)
    try:
        synthesize(options.config, options.output)
    except OvernightError as error:
        print(f"infra: {error.sentence}", file=sys.stderr)
        return error.exit_code
    return 0


def synthesize(config: Path, output: Path) -> None:
    """Check the environment first: a mistake in it is told before the framework is even started."""
    from infra.settings import settings

    checked = settings(load(config), config, today=datetime.now(UTC).date())
    from infra.app import build

    build(checked, output).synth()


if __name__ == "__main__":
    sys.exit(main())
