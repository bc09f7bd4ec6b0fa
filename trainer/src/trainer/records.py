"""The run folder's records: config.json, metrics.json, profile.json, result.json (docs/formats.md)."""

import os
import platform
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import torch

import trainer
from trainer.config import RunConfig
from trainer.fields import plain
from trainer.files import canonical_json, read_json, write_atomically
from trainer.input_report import InputReport
from trainer.profile import phase_table
from trainer.state import Progress

_ATTEMPTS = "overnight.attempts/1"
_BAD_SAMPLES_LISTED = 1000


@dataclass(frozen=True)
class Attempt:
    """Which try this is, and when the first began."""

    number: int
    started: str


def begin_attempt(output: Path, now: datetime) -> Attempt:
    """Count this try in checkpoints/attempts.json, and remember when the first began."""
    path = output / "checkpoints" / "attempts.json"
    earlier: dict[str, Any] = read_json(path, _ATTEMPTS) if path.exists() else {"attempts": 0, "started": utc(now)}
    attempt = Attempt(int(earlier["attempts"]) + 1, str(earlier["started"]))
    write_atomically(
        path, canonical_json({"format": _ATTEMPTS, "attempts": attempt.number, "started": attempt.started})
    )
    return attempt


def write_config(output: Path, config: RunConfig) -> None:
    """config.json: every field, resolved."""
    write_atomically(output / "config.json", canonical_json(plain(config)))


def write_metrics(output: Path, progress: Progress, final: dict[str, Any]) -> None:
    """metrics.json."""
    value = {"format": "overnight.metrics/1", "epochs": progress.epochs, "final": final}
    write_atomically(output / "metrics.json", canonical_json(value))


def write_profile(
    output: Path,
    config: RunConfig,
    report: InputReport,
    seconds: dict[str, float],
    steps: int,
    world_size: int,
) -> None:
    """profile.json of this attempt: `seconds` by phase on rank 0, `steps` done in it."""
    wall = sum(seconds.values())
    value = {
        "format": "overnight.profile/1",
        "steps": steps,
        "samples": steps * config.batch_size,
        "samples_per_second": steps * config.batch_size / wall if wall else 0.0,
        "wall_seconds": wall,
        "phases": phase_table(seconds),
        "bad_samples": [bad._asdict() for bad in report.bad_samples[:_BAD_SAMPLES_LISTED]],
        "bad_samples_total": len(report.bad_samples),
        "slow_samples": report.slow_samples,
        "world_size": world_size,
        "threads": config.data.threads,
    }
    if report.training is not None and report.evaluation is not None:
        value["read_ahead"] = {"training": asdict(report.training), "evaluation": asdict(report.evaluation)}
    write_atomically(output / "profile.json", canonical_json(value))


def write_result(output: Path, facts: dict[str, Any], config: RunConfig, attempt: Attempt, ended: datetime) -> None:
    """result.json, the last file of a run: it says that all others are there."""
    value = {
        "format": "overnight.result/1",
        "status": "succeeded",
        "seed": config.seed,
        "hyperparameters": plain(config),
        "restarts": attempt.number - 1,
        "started": attempt.started,
        "ended": utc(ended),
        "machine": machine(),
        "versions": versions(),
        **facts,
    }
    write_atomically(output / "result.json", canonical_json(value))


def machine() -> dict[str, Any]:
    """What the run ran on."""
    accelerator = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return {
        "cpu": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "accelerator": accelerator,
        "hostname": socket.gethostname(),
    }


def versions() -> dict[str, str]:
    """Of everything that influences the result."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "pyarrow": pyarrow.__version__,
        "trainer": trainer.__version__,
    }


def utc(moment: datetime) -> str:
    """`2026-11-30T02:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
