"""What the commands share: data arguments from the environment, and errors as one sentence."""

import argparse
import errno
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trainer.buckets import local_path
from trainer.data.cache import CacheConfig
from trainer.errors import ConfigError, TrainerError


def add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """--snapshot and --shards, which a job finds in its environment."""
    _add(parser, "--snapshot", "OVERNIGHT_SNAPSHOT", "the snapshot's folder")
    _add(parser, "--shards", "OVERNIGHT_SHARDS", "the folder of all shard sets")


def add_cache_arguments(parser: argparse.ArgumentParser) -> None:
    """--cache-folder and --cache-bytes."""
    parser.add_argument("--cache-folder", default="", help="read Cloud Storage ahead into this folder")
    parser.add_argument("--cache-bytes", type=int, default=CacheConfig.bytes, help="the most that the folder may hold")


def cache_of(options: argparse.Namespace) -> CacheConfig:
    """What they say. Raises ConfigError."""
    return CacheConfig(folder=options.cache_folder, bytes=options.cache_bytes)


def _add(parser: argparse.ArgumentParser, name: str, variable: str, text: str) -> None:
    default = os.environ.get(variable)
    parser.add_argument(name, default=default, required=default is None, help=f"{text} (default: ${variable})")


def default_output(environment: Mapping[str, str]) -> Path | None:
    """The run folder: the parent of AIP_MODEL_DIR, else of AIP_CHECKPOINT_DIR, as Vertex AI sets them."""
    for name in ("AIP_MODEL_DIR", "AIP_CHECKPOINT_DIR"):
        if environment.get(name):
            return local_path(environment[name].rstrip("/"), environment).parent
    return None


def job_settings(environment: Mapping[str, str]) -> list[str]:
    """What a tuning job's OVERNIGHT_SUBSAMPLE means, as `--set` takes it. Raises ConfigError where it is no share."""
    text = environment.get("OVERNIGHT_SUBSAMPLE")
    if not text:
        return []
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if not 0 < share <= 1:
        raise ConfigError(
            f"{text!r} is no share of the training images",
            where="OVERNIGHT_SUBSAMPLE",
            remedy="give a number above 0, at most 1 (all)",
        )
    return [f"data.subsample={share!r}"]


def fail_in_one_sentence(main: Callable[[Sequence[str]], int], arguments: Sequence[str]) -> int:
    """Run `main`; a TrainerError or OSError becomes one line on stderr and an exit code."""
    try:
        return main(arguments)
    except TrainerError as error:
        print(f"trainer: {error.sentence}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"trainer: {_os_sentence(error)}", file=sys.stderr)
        return ConfigError.exit_code


def _os_sentence(error: OSError) -> str:
    full = "; free some space or use another disk"
    remedies = {
        errno.ENOSPC: full,
        errno.EDQUOT: full,
        errno.EFBIG: full,
        errno.EACCES: "; give this user permission",
        errno.EPERM: "; give this user permission",
        errno.EROFS: "; use a folder that can be written",
        errno.ENOENT: "; check the path",
    }
    where = f"{error.filename}: " if error.filename else ""
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    return f"{where}{reason}{remedies.get(error.errno or 0, '')}."
