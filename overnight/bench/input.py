"""The trainer's measurement of an input pipeline: started as a process, read, and what follows from it."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from overnight.errors import OvernightError
from overnight.models.trainer_process import run_trainer

WAIT_LIMIT = 0.05
"""Share of a step that may be spent waiting for input before more is advised."""
_WORTH = 1.1  # times as fast, from where on a change of the shards is advised


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Sample(_Part):
    """What was drawn: pictures, of so many shards; bytes and pixels are means, `shorter_side` is a median."""

    images: int
    shards: int
    mean_bytes: float
    mean_pixels: float
    bits_per_pixel: float
    shorter_side: float


class Steps(_Part):
    """CPU microseconds of a picture that the trainer's own decoder reads."""

    entropy: float
    transform: float
    resample: float
    finish: float

    def shares(self) -> dict[str, float]:
        """Of the whole, by step."""
        steps = self.model_dump()
        total = sum(steps.values()) or 1.0
        return {name: value / total for name, value in steps.items()}


class Lever(_Part):
    """Another way to write the shards: times as fast, times the bytes."""

    name: Literal["restart-markers", "shorter-side"]
    gain: float
    bytes: float
    images: int


class LoaderRate(_Part):
    """The loader at its own pace."""

    threads: int
    images_per_second: float


class Accelerator(_Part):
    """Beside an accelerator that takes `images_per_second`: share of the time that it waits."""

    images_per_second: float
    exposed_wait: float
    cores_needed: int
    cores_here: int


class Measurement(_Part):
    """What `python -m trainer.bench_input` prints; `bad` and `fallback` count pictures by reason."""

    format: Literal["overnight.bench-input/1"]
    sample: Sample
    size: int
    instructions: str
    bad: Mapping[str, int]
    fallback: Mapping[str, int]
    images_per_second_core: float
    steps_us: Steps | None
    floor_share: float | None
    fallback_us: float | None
    levers: tuple[Lever, ...]
    loader: LoaderRate
    accelerator: Accelerator | None


def measure(arguments: list[str]) -> Measurement:
    """Run the trainer's measurement. Raises OvernightError with its sentence."""
    return read(run_trainer("bench_input", arguments))


def read(text: str) -> Measurement:
    """What the trainer printed. Raises OvernightError where it is not this format."""
    try:
        return Measurement.model_validate_json(text)
    except ValidationError:
        raise OvernightError(
            "the trainer package answers in another format",
            where="trainer.bench_input",
            remedy="install the two packages from one checkout: make setup",
        ) from None


def advice(found: Measurement) -> list[str]:
    """What to do, one sentence each, the most useful first; a single one where nothing is to be gained."""
    sentences = [*_accelerator(found), *_levers(found)]
    if found.fallback:
        share = sum(found.fallback.values()) / found.sample.images
        sentences.append(
            f"{share:.0%} of the images are left to libjpeg ({', '.join(found.fallback)}); "
            "`overnight shards build` rewrites those that it can."
        )
    if found.bad:
        sentences.append("Some images cannot be decoded: `overnight shards build` keeps such images out.")
    return sentences or ["Nothing to change."]


def _accelerator(found: Measurement) -> list[str]:
    asked = found.accelerator
    if asked is None or asked.exposed_wait <= WAIT_LIMIT:
        return []
    if asked.cores_needed <= asked.cores_here:
        return [
            f"Decoding should keep up ({asked.cores_needed} of {asked.cores_here} cores), but the accelerator waits: "
            "other programs use the cores, or the storage is too slow."
        ]
    return [f"The input is too slow for this accelerator: give it {asked.cores_needed} cores, or change the shards."]


def _levers(found: Measurement) -> list[str]:
    sentences = []
    for lever in sorted(found.levers, key=lambda lever: -lever.gain):
        if lever.gain < _WORTH:
            continue
        effect = f"{lever.gain:.2f} times as fast, {_bytes(lever.bytes)}"
        if lever.name == "restart-markers":
            sentences.append(
                f"Write the shards with restart markers (`shards.restart_markers: true`): {effect}, no pixel changes."
            )
        else:
            sentences.append(f"Write the shards smaller, shorter side 384: {effect}; small crops lose detail.")
    return sentences


def _bytes(times: float) -> str:
    return f"{times:.0%} of the bytes" if times < 1 else f"{times - 1:.1%} more bytes"
