"""The trainer, started as a process: the two packages share files, never imports."""

import re
import subprocess
import sys

from overnight.errors import OvernightError


class TrainerFailed(OvernightError):
    """A `python -m trainer.…` command did not end well; the sentence is the trainer's own where it gave one."""


def run_trainer(module: str, arguments: list[str]) -> str:
    """Run `python -m trainer.<module> <arguments>` with this interpreter and return its standard output.

    Raises TrainerFailed with the last line of its standard error.
    """
    done = start(module, arguments)
    if done.returncode != 0:
        raise failure(module, done)
    return done.stdout


def start(module: str, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `python -m trainer.<module> <arguments>` with this interpreter to its end, good or bad."""
    command = [sys.executable, "-m", f"trainer.{module}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def failure(module: str, done: subprocess.CompletedProcess[str]) -> TrainerFailed:
    """Why the process did not end well, in the trainer's own sentence where it gave one."""
    if done.returncode < 0:
        return TrainerFailed(
            f"trainer.{module} was ended by signal {-done.returncode}",
            remedy="signal 9 mostly means that memory ran out" if done.returncode == -9 else None,
        )
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else f"exit code {done.returncode} without a word"
    if re.search(r"No module named '?trainer\b", last):
        return TrainerFailed(
            f"trainer.{module} is not installed in this Python environment", remedy="run: pip install ./trainer"
        )
    if done.returncode == 2:
        # The trainer's own sentence, or its argument parser's: without the program's name in front.
        return TrainerFailed(
            re.sub(r"^(?:trainer|python -m trainer[\w.]*|[\w.-]+\.py): (?:error: )?", "", last).rstrip(".")
        )
    return TrainerFailed(f"trainer.{module} failed: {last}")
