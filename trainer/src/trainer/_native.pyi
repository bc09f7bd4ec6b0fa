"""What csrc/module.cpp offers. Use it through trainer.data.native."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STATUS_NAMES: list[str]
INSTRUCTION_SETS: list[str]
LIBJPEG_VERSION: str
"""libjpeg-turbo's, as compiled against."""
MAX_PIXELS: int
"""A larger picture is refused."""

class ForkError(RuntimeError): ...

class Reader:
    def __init__(self, paths: Sequence[str]) -> None: ...
    def move(self, file: int, path: str) -> None: ...
    def read(self, file: int, offset: int, size: int) -> tuple[bytes | None, str]: ...

class Ticket:
    def wait(self) -> None: ...
    def done(self) -> bool: ...

class Pool:
    def __init__(self, threads: int) -> None: ...
    @property
    def threads(self) -> int: ...
    def submit(
        self,
        reader: Reader,
        file: NDArray[np.int32],
        offset: NDArray[np.int64],
        size: NDArray[np.int64],
        dimensions: NDArray[np.int32],
        boxes: NDArray[np.float64],
        flips: NDArray[np.uint8],
        out: NDArray[np.uint8] | NDArray[np.float16] | NDArray[np.float32],
        statuses: NDArray[np.uint8],
        *,
        exact: bool,
        planar: bool,
        channels_last: bool,
        mean: Sequence[float],
        std: Sequence[float],
    ) -> Ticket: ...
    def read_headers(
        self,
        reader: Reader,
        file: NDArray[np.int32],
        offset: NDArray[np.int64],
        size: NDArray[np.int64],
        dimensions: NDArray[np.int32],
        statuses: NDArray[np.uint8],
    ) -> Ticket: ...
    def close(self) -> None: ...

def sample_of(
    pixels: NDArray[np.uint8],
    box: NDArray[np.float64],
    flip: bool,
    out: NDArray[np.uint8] | NDArray[np.float16] | NDArray[np.float32],
    *,
    channels_last: bool,
    mean: Sequence[float],
    std: Sequence[float],
) -> str: ...
def decode_region(
    file: NDArray[np.uint8], eighths: int, region: Sequence[int]
) -> tuple[NDArray[np.uint8] | None, str]: ...
def own_planes(file: NDArray[np.uint8], side: int, instructions: str) -> tuple[list[NDArray[np.uint8]], str] | None: ...
def reference_planes(file: NDArray[np.uint8], eighths: int) -> tuple[list[tuple[int, NDArray[np.uint8]]], str]: ...
def scan_tar(path: str) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], bool]: ...
def rewrite(file: bytes, rows_per_restart: int) -> tuple[bytes | None, str]: ...
def decoders_agree(file: bytes) -> str: ...
def measure(
    part: str,
    bytes: NDArray[np.uint8],
    offset: NDArray[np.int64],
    size: NDArray[np.int64],
    boxes: NDArray[np.float64],
    flips: NDArray[np.uint8],
    out: NDArray[np.uint8] | NDArray[np.float16] | NDArray[np.float32],
    statuses: NDArray[np.uint8],
    *,
    instructions: str,
    mean: Sequence[float],
    std: Sequence[float],
) -> float: ...
