"""`python -m trainer`: train one model from a snapshot. See trainer.train for what happens then."""

import argparse
import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from trainer.command import add_data_arguments, default_output, fail_in_one_sentence
from trainer.errors import ConfigError
from trainer.files import local_path

_PR_SET_PDEATHSIG = 1  # <sys/prctl.h>


def main(arguments: Sequence[str]) -> int:
    """Parse, train; the exit code. Raises TrainerError."""
    options = _parser().parse_args(arguments)
    _end_with_the_launcher()
    output = Path(local_path(options.output)) if options.output else default_output(os.environ)
    if output is None:
        raise ConfigError("the run folder is not known", where="--output", remedy="give it, or set AIP_MODEL_DIR")
    # Imported here: --help and mistakes in arguments need not wait for torch.
    from trainer.config import RunConfig, load_config
    from trainer.distributed import lost
    from trainer.presets import preset
    from trainer.run import Paths
    from trainer.train import train

    base = preset(options.preset) if options.preset else RunConfig()
    config = load_config(base, local_path(options.config) if options.config else None, options.set)
    try:
        return train(config, Paths(local_path(options.snapshot), local_path(options.shards), output))
    except RuntimeError as error:
        if (known := lost(error)) is not None:
            raise known from None
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainer", description="Train one model from a snapshot.")
    parser.add_argument("--preset", help="a named recipe: smoke, demo, night-16 or night-30")
    parser.add_argument("--config", help="a TOML file (or a run's config.json) laid over the preset")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.FIELD=VALUE", help="one field laid over both"
    )
    add_data_arguments(parser)
    parser.add_argument("--output", help="the run folder (default: the parent of $AIP_MODEL_DIR)")
    return parser


def _end_with_the_launcher() -> None:
    """Under trainer.launch: be killed when the launcher is, lest this process keeps the run folder locked."""
    parent = os.environ.get("TRAINER_PARENT")
    if parent is None or not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        sys.exit(128 + signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
