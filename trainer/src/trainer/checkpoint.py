"""Checkpoints: copied to host memory at once, written by a thread, complete or absent, resumed exactly.

`step-NNNNNNNN/` holds state.safetensors and, written last, manifest.json (docs/formats.md). It does not
hold the state of random generators, because there is none: every step seeds them from (seed, step,
position), and the order of samples is a function of (seed, position).
"""

import os
import re
import shutil
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from trainer.errors import CheckpointError, TrainerError
from trainer.fields import require
from trainer.files import canonical_json, fsync_folder, publishing, read_json, sha256_file, write_durably

FORMAT = "overnight.checkpoint/1"
_NAME = re.compile(r"step-\d{8}")
_STATE = "state.safetensors"


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    """How often state is saved. None of it has any influence on results."""

    every_steps: int = 0
    """Save after every so many steps; 0 = not by steps."""
    every_seconds: float = 120.0
    """Save when so many seconds have passed since the last time; 0 = not by time."""
    keep: int = 2
    """How many checkpoints stay."""

    def __post_init__(self) -> None:
        require(self.every_steps >= 0, "checkpoint.every_steps", self.every_steps, "give 0 (off) or more steps")
        require(self.every_seconds >= 0, "checkpoint.every_seconds", self.every_seconds, "give 0 (off) or more seconds")
        require(self.keep >= 1, "checkpoint.keep", self.keep, "keep at least 1")


@dataclass(frozen=True)
class Checkpoint:
    """A complete one on disk."""

    folder: Path
    manifest: dict[str, Any]

    @property
    def step(self) -> int:
        """Steps done when it was saved."""
        return int(self.manifest["step"])

    def tensors(self) -> dict[str, Tensor]:
        """Its tensors, on the CPU. Raises CheckpointError."""
        try:
            return load_file(self.folder / _STATE)
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"the state cannot be read ({error})", where=str(self.folder)) from None


class CheckpointWriter:
    """Writes one checkpoint at a time on a thread of its own, and keeps the last few."""

    def __init__(self, folder: Path, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self._buffers: dict[str, Tensor] = {}
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @property
    def busy(self) -> bool:
        """Whether the last checkpoint is still being written."""
        return self._thread is not None and self._thread.is_alive()

    def save(self, step: int, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Copy `tensors` and write them behind the caller's back; waits only for an unfinished checkpoint.

        Raises CheckpointError when the checkpoint before could not be written.
        """
        self.wait()
        self._copy(tensors)
        manifest = {"format": FORMAT, "step": step, **facts}
        names = tuple(tensors)
        self._thread = threading.Thread(target=self._write, args=(step, names, manifest), name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Until the checkpoint is on disk. Raises CheckpointError when it could not be written."""
        if self._thread is not None:
            self._thread.join()
        self.check()

    def check(self) -> None:
        """Raise CheckpointError when a checkpoint could not be written."""
        if self._error is not None:
            error, self._error = self._error, None
            raise CheckpointError(
                f"the checkpoint could not be written ({_reason(error)})",
                where=str(self._folder),
                remedy="free some space or give another folder, then start again: earlier checkpoints are whole",
            )

    def _copy(self, tensors: Mapping[str, Tensor]) -> None:
        for name, tensor in tensors.items():
            buffer = self._buffers.get(name)
            if buffer is None or buffer.shape != tensor.shape:
                buffer = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
                self._buffers[name] = buffer
            buffer.copy_(tensor, non_blocking=True)
        if any(tensor.is_cuda for tensor in tensors.values()):
            torch.cuda.synchronize()

    def _write(self, step: int, names: tuple[str, ...], manifest: dict[str, Any]) -> None:
        try:
            write_checkpoint(self._folder / f"step-{step:08d}", {name: self._buffers[name] for name in names}, manifest)
            for old in _folders(self._folder)[self._keep :]:
                _remove(old)
        except BaseException as error:  # handed to the main thread, which raises it
            self._error = error


def write_checkpoint(folder: Path, tensors: dict[str, Tensor], manifest: dict[str, Any]) -> None:
    """Write a whole checkpoint under a temporary name and rename it. Raises OSError, SafetensorError."""
    with publishing(folder) as temporary:
        state = temporary / _STATE
        save_file(tensors, state)
        with state.open("rb+") as file:
            os.fsync(file.fileno())
        files = [{"path": _STATE, "sha256": sha256_file(state), "size": state.stat().st_size}]
        write_durably(temporary / "manifest.json", canonical_json({**manifest, "files": files}))


def remove_stale(folder: Path) -> None:
    """Remove what killed processes left half written."""
    for leftover in folder.glob(".step-*.tmp"):
        shutil.rmtree(leftover, ignore_errors=True)


def newest(folder: Path) -> Checkpoint | None:
    """The newest complete checkpoint whose digests agree; each one passed over gets a line on stderr."""
    for candidate in _folders(folder):
        try:
            return _verified(candidate)
        except TrainerError as error:
            print(f"trainer: checkpoint passed over: {error.sentence}", file=sys.stderr)
    return None


def _verified(folder: Path) -> Checkpoint:
    manifest = read_json(folder / "manifest.json", FORMAT)
    try:
        files = [(folder / str(entry["path"]), entry["size"], entry["sha256"]) for entry in manifest["files"]]
        step = int(manifest["step"])
    except (KeyError, TypeError, ValueError):
        raise CheckpointError("fields are missing", where=str(folder / "manifest.json")) from None
    if folder.name != f"step-{step:08d}" or not files:
        raise CheckpointError("the manifest belongs to another checkpoint", where=str(folder))
    for path, size, digest in files:
        if not path.is_file() or path.stat().st_size != size:
            raise CheckpointError("the file is missing or cut short", where=str(path))
        if sha256_file(path) != digest:
            raise CheckpointError("the bytes are not those that were written", where=str(path))
    return Checkpoint(folder, manifest)


def _folders(folder: Path) -> list[Path]:
    """Checkpoint folders, newest first."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True)


def _remove(folder: Path) -> None:
    # Renamed first: a removal cut short must not look like a checkpoint.
    hidden = folder.with_name(f".{folder.name}.old.tmp")
    folder.rename(hidden)
    fsync_folder(folder.parent)
    shutil.rmtree(hidden, ignore_errors=True)


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
