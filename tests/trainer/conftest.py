"""A small real snapshot with its shards, and short trainings on it."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from launchers import Replica, Start, addresses, launcher
from trainer.config import RunConfig, load_config
from trainer.presets import smoke
from trainer.run import Paths
from trainer.train import train

BENCH = Path(__file__).parents[2] / "bench"
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)

Trainer = Callable[..., Path]


def load_bench(name: str) -> ModuleType:
    """A module of bench/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    """60 synthetic JPEGs of 3 classes: 42 train, 6 validation, 12 test. `output` is the data's own folder."""
    folder = tmp_path_factory.mktemp("dataset")
    made = load_bench("synthetic").write_synthetic(folder, images=60)
    return Paths(made.snapshot, made.shards, folder)


def small_config(*settings: str) -> RunConfig:
    """The smoke preset, still smaller: 42 images, batches of 8, two epochs, eleven steps."""
    return load_config(
        smoke(), None, ["batch_size=8", "model.arguments={width=4}", "checkpoint.every_seconds=0", *settings]
    )


@pytest.fixture
def run(dataset: Paths, tmp_path: Path) -> Trainer:
    """`run("name", "field=value", …)` trains in this process into tmp_path/name and returns that folder.

    `data=Paths(…)` takes another snapshot than the small one.
    """

    def start(name: str, *settings: str, data: Paths = dataset) -> Path:
        output = tmp_path / name
        assert train(small_config(*settings), Paths(data.snapshot, data.shards, output), lambda: NOON) == 0
        return output

    return start


@pytest.fixture(scope="session")
def crash_drill() -> ModuleType:
    """bench/crash_drill.py."""
    return load_bench("crash_drill")


@pytest.fixture
def start() -> Iterator[Start]:
    """`start(replicas, arguments, **variables)` starts one launcher a replica; all are killed at the end."""
    started: list[subprocess.Popen[str]] = []

    def run(replicas: list[Replica], arguments: list[str], **variables: str) -> list["subprocess.Popen[str]"]:
        cluster = addresses(replicas)
        new = [launcher(cluster, replica, arguments, variables) for replica in replicas]
        started.extend(new)
        return new

    yield run
    for process in started:
        process.kill()
        process.wait()
