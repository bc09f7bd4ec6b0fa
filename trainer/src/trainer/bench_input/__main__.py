"""`python -m trainer.bench_input SHARDS --size 224`: how fast these shards become training samples here; JSON."""

import argparse
import json
import os
import sys
from collections.abc import Sequence

from trainer.buckets import local_path
from trainer.command import fail_in_one_sentence
from trainer.data.crops import CropConfig
from trainer.errors import ConfigError

_MOST_PICTURES = 512
_BYTES_A_SECOND = 2 << 20  # of pictures, for each second that it may take: a few rounds of every step


def main(arguments: Sequence[str]) -> int:
    """Measure and print. Raises TrainerError."""
    options = _parser().parse_args(arguments)
    size, crop = _preset(options)
    rate = _rate(options)
    if not 1 <= options.seconds <= 600:
        raise ConfigError(f"{options.seconds:g} seconds cannot be", where="--seconds", remedy="give 1 to 600")
    if not 1 <= size <= 4096:
        raise ConfigError(f"pictures of {size} pixels cannot be", where="--size", remedy="give 1 to 4096")
    threads = len(os.sched_getaffinity(0)) if options.threads is None else options.threads
    if threads < 1:
        raise ConfigError(f"{threads} threads cannot be", where="--threads", remedy="give 1 or more")
    # Imported here: mistakes in arguments need not wait.
    from trainer.bench_input.pictures import draw
    from trainer.bench_input.report import Question, answer

    shards = local_path(options.shards) if options.shards else None
    drawn = draw(local_path(options.path), shards, options.seed, _MOST_PICTURES, int(_BYTES_A_SECOND * options.seconds))
    question = Question(size, crop, threads, rate, options.seconds, options.seed)
    print(json.dumps(answer(drawn, question), indent=2))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trainer.bench_input", description=__doc__, allow_abbrev=False)
    parser.add_argument("path", help="a folder of tar shards, one tar, or a snapshot's folder")
    parser.add_argument("--shards", help="the folder of all shard sets, for a snapshot")
    parser.add_argument("--preset", help="take size and crops from this preset of the trainer")
    parser.add_argument("--size", type=int, help="side of a sample, pixels (default: the preset's, or 224)")
    parser.add_argument("--threads", type=int, help="of the loader (default: all cores)")
    parser.add_argument("--rate", type=float, help="what the accelerator takes, pictures a second")
    parser.add_argument("--step-ms", type=float, help="or: how long a step takes, and --batch")
    parser.add_argument("--batch", type=int, help="pictures of a step on this machine")
    parser.add_argument("--seconds", type=float, default=20.0, help="about how long it may take (default: 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample of pictures")
    return parser


def _preset(options: argparse.Namespace) -> tuple[int, CropConfig]:
    if options.preset is None:
        return 224 if options.size is None else options.size, CropConfig()
    from trainer.presets import preset

    config = preset(options.preset)
    return config.size.end if options.size is None else options.size, config.augment.crop()


def _rate(options: argparse.Namespace) -> float | None:
    stepwise = (options.step_ms, options.batch)
    if options.rate is not None and stepwise != (None, None):
        raise ConfigError("this says the same as --step-ms and --batch", where="--rate", remedy="give one of the two")
    if (options.step_ms is None) != (options.batch is None):
        raise ConfigError("these belong together", where="--step-ms, --batch", remedy="give both, or --rate")
    rate = options.rate if options.step_ms is None else options.batch / max(options.step_ms, 1e-9) * 1000
    if rate is not None and not 0 < rate < 1e7:
        raise ConfigError(
            f"{rate:g} pictures a second cannot be", where="the accelerator's rate", remedy="give more than 0"
        )
    return None if rate is None else float(rate)


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
