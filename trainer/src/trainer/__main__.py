"""`python -m trainer`: train one model from a snapshot. See trainer.train for what happens then."""

import argparse
import os
import sys
from collections.abc import Sequence

from trainer import image
from trainer.buckets import local_path
from trainer.command import add_data_arguments, default_output, fail_in_one_sentence, job_settings
from trainer.errors import ConfigError


def main(arguments: Sequence[str]) -> int:
    """Parse, train; the exit code. Raises TrainerError."""
    options, parameters = _parser().parse_known_args(arguments)
    own_image = image.here(os.environ)
    if "TRAINER_RANK" not in os.environ:  # the launcher has said it
        image.warn_if_unknown(own_image)
    output = local_path(options.output) if options.output else default_output(os.environ)
    if output is None:
        raise ConfigError("the run folder is not known", where="--output", remedy="give it, or set AIP_MODEL_DIR")
    # Imported here: --help and mistakes in arguments need not wait for torch.
    from trainer.config import RunConfig, load_config
    from trainer.distributed import lost
    from trainer.hypertune import parameter_settings
    from trainer.presets import preset
    from trainer.run import Paths
    from trainer.train import train

    base = preset(options.preset) if options.preset else RunConfig()
    file = local_path(options.config) if options.config else None
    # The job's share lies over a file: an earlier run's config.json has one too, and would undo it.
    settings = [*job_settings(os.environ), *options.set, *parameter_settings(parameters)]
    config = load_config(base, file, settings)
    try:
        return train(config, Paths(local_path(options.snapshot), local_path(options.shards), output), image=own_image)
    except RuntimeError as error:
        if (known := lost(error)) is not None:
            raise known from None
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer",
        description="Train one model from a snapshot.",
        epilog="A study's --FIELD=VALUE is --set FIELD=VALUE, $OVERNIGHT_SUBSAMPLE is --set data.subsample=VALUE.",
        allow_abbrev=False,
    )
    parser.add_argument("--preset", help="a named recipe: smoke, demo, night-16 or night-30")
    parser.add_argument("--config", help="a TOML file (or a run's config.json) laid over the preset")
    parser.add_argument(
        "--set", action="append", default=[], metavar="SECTION.FIELD=VALUE", help="one field laid over both"
    )
    add_data_arguments(parser)
    parser.add_argument("--output", help="the run folder (default: the parent of $AIP_MODEL_DIR)")
    return parser


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
