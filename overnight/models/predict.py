"""What a model says about single images, asked of the trainer: the very preprocessing of its evaluation."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from overnight.errors import OvernightError
from overnight.models.trainer_process import failure, start

# Images of one process: far below the operating system's limit of an argument list (2 MB on Linux).
PART = 2000


@dataclass(frozen=True)
class Answer:
    """One image: the best classes with their probabilities (0 to 1), best first, or what is wrong with the file."""

    path: str
    top: tuple[tuple[str, float], ...]
    error: str | None


def predict(model: Path, images: Sequence[Path], top: int) -> Iterator[Answer]:
    """Answers in the order of `images` from the model in folder `model`, with the `top` best classes each.

    Raises OvernightError when an image is missing, TrainerFailed when the model cannot be loaded.
    """
    missing = [image for image in images if not image.is_file()]
    if missing:
        raise OvernightError("there is no such image", where=str(missing[0]), remedy="check the path")
    for first in range(0, len(images), PART):
        part = [str(image) for image in images[first : first + PART]]
        done = start("predict", ["--model", str(model), "--top", str(top), "--", *part])
        lines = done.stdout.splitlines()
        if len(lines) != len(part):
            raise failure("predict", done)
        yield from (_answer(line) for line in lines)


def _answer(line: str) -> Answer:
    record = json.loads(line)
    return Answer(
        path=record["path"],
        top=tuple((label, probability) for label, probability in record.get("top", ())),
        error=record.get("error"),
    )
