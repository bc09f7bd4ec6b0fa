"""The whole loader on this machine, alone or with an accelerator that takes batches at a steady rate."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from trainer.data.crops import CropConfig
from trainer.data.loader import BadSamplePolicy
from trainer.data.snapshot import Rows
from trainer.data.stream import InputStream

MOST_BATCH = 64
_LEAST_BATCHES = 4


@dataclass(frozen=True)
class Fed:
    """Pictures a second, and the share of the time that the consumer waited for input."""

    pictures_per_second: float
    waiting: float


def feed(
    rows: Rows,
    size: int,
    crop: CropConfig,
    threads: int,
    rate: float | None,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Fed:
    """Take batches for about `seconds`; with a `rate` (pictures a second), be busy with each as long as it implies.

    Batches are small where the rate is, so that there are several. The rows go round and round; after the first time
    they come from memory.
    """
    batch = MOST_BATCH if rate is None else max(1, min(MOST_BATCH, int(rate * seconds / (2 * _LEAST_BATCHES))))
    policy = BadSamplePolicy("skip", len(rows))
    waited, pictures, began = 0.0, 0, 0.0
    with InputStream(rows, batch_size=batch, size=size, threads=threads, crop=crop, policy=policy) as stream:
        next(stream)  # the first batch is slow everywhere: threads start, files are opened
        began = clock()
        while clock() - began < seconds or pictures < _LEAST_BATCHES * batch:
            before = clock()
            next(stream)
            waited += clock() - before
            pictures += batch
            if rate is not None:
                sleep(batch / rate)
        elapsed = clock() - began
    return Fed(pictures / elapsed, waited / elapsed)
