"""The model registry: models/<name>/versions/<n>, immutable folders that serve without the run they came from.

Layout and fields: docs/formats.md, "Model version and promotion log".
"""

import contextlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError
from overnight.files import canonical_json, locked, publishing, read_json, sha256_file, write_atomically

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
WEIGHTS = "model.safetensors"


class RegistryError(OvernightError):
    """A model, a version or a run that is not there, or whose files do not agree."""


@dataclass(frozen=True)
class ModelVersion:
    """One version.json and the folder it stands in."""

    name: str
    version: int
    run_id: str
    created: str
    """UTC, as in 2026-11-30T02:00:00Z."""
    weights_sha256: str
    run_sha256: str
    """Digest of the version's run.json."""
    folder: Path

    @property
    def reference(self) -> str:
        """`name:version`, as the commands take it."""
        return f"{self.name}:{self.version}"

    def record(self) -> dict[str, Any]:
        """The content of version.json."""
        fields = {key: value for key, value in asdict(self).items() if key != "folder"}
        return {"format": "overnight.version/1", **fields}


@dataclass(frozen=True)
class HeldModel:
    """A model's folder while this process alone may add to it; only `hold` makes one."""

    name: str
    folder: Path


@contextlib.contextmanager
def hold(models: Path, name: str) -> Iterator[HeldModel]:
    """Keep other processes from adding versions or decisions to model `name` under the folder `models`.

    What a killed process left half written is removed first. Raises FolderInUse when another process holds it,
    RegistryError when the name is not one.
    """
    folder = models / checked_name(name)
    with locked(folder, "promotion of this model"):
        for left_over in [*folder.glob(".*.tmp"), *(folder / "versions").glob(".*.tmp")]:
            shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
        yield HeldModel(name, folder)


def checked_name(name: str) -> str:
    """`name` when it may name a model; raises RegistryError otherwise."""
    if not NAME.fullmatch(name):
        raise RegistryError(
            f"{name!r} cannot be the name of a model",
            remedy="use lower-case letters, digits, - and _, at most 63 characters",
        )
    return name


def names(models: Path) -> list[str]:
    """Names of all models that have a version, sorted."""
    if not models.is_dir():
        return []
    return sorted(entry.name for entry in models.iterdir() if NAME.fullmatch(entry.name) and _numbers(entry))


def versions(models: Path, name: str) -> list[ModelVersion]:
    """All versions of `name`, oldest first; empty when there is no such model."""
    folder = models / checked_name(name)
    return [_read(folder, number) for number in _numbers(folder)]


def version(models: Path, name: str, number: int) -> ModelVersion:
    """Version `number` of `name`; raises RegistryError naming those that exist."""
    folder = models / checked_name(name)
    existing = _numbers(folder)
    if number not in existing:
        raise RegistryError(
            f"model {name!r} has no version {number}",
            where=str(models),
            remedy=f"it has {_listed(existing)}" if existing else f"models here: {_listed(names(models))}",
        )
    return _read(folder, number)


def register(model: HeldModel, run_folder: Path, now: datetime) -> ModelVersion:
    """Copy a run's model into the registry as the next version; the same run and weights give the same version.

    `run_folder` holds run.json and model/ (docs/formats.md). Raises RegistryError when the run did not succeed or
    when the weights, model.json and run.json disagree about the weights' digest.
    """
    run = read_json(run_folder / "run.json", "overnight.run/1")
    weights_sha256 = _checked_weights(run_folder, run)
    for number in _numbers(model.folder):
        known = _read(model.folder, number)
        if known.run_id == run["run_id"] and known.weights_sha256 == weights_sha256:
            return known
    number = max(_numbers(model.folder), default=0) + 1
    made = ModelVersion(
        name=model.name,
        version=number,
        run_id=run["run_id"],
        created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        weights_sha256=weights_sha256,
        run_sha256=sha256_file(run_folder / "run.json"),
        folder=model.folder / "versions" / str(number),
    )
    with publishing(made.folder) as folder:
        shutil.copyfile(run_folder / "model" / "model.json", folder / "model.json")
        shutil.copyfile(run_folder / "model" / WEIGHTS, folder / WEIGHTS)
        shutil.copyfile(run_folder / "run.json", folder / "run.json")
        write_atomically(folder / "version.json", canonical_json(made.record()))
    verify(made)
    return made


def verify(entry: ModelVersion) -> None:
    """Read the version's weights and run record again; raises RegistryError when they changed since registration."""
    for path, expected in ((WEIGHTS, entry.weights_sha256), ("run.json", entry.run_sha256)):
        file = entry.folder / path
        if not file.is_file():
            raise RegistryError("this file of a registered model is missing", where=str(file))
        if sha256_file(file) != expected:
            raise RegistryError(
                f"the file is not the one that was registered as {entry.reference} (its SHA-256 differs)",
                where=str(file),
                remedy="restore it from a backup, or roll back to another version",
            )


def _checked_weights(run_folder: Path, run: dict[str, Any]) -> str:
    if run.get("status") != "succeeded":
        raise RegistryError(
            f"this run's status is {run.get('status')!r}: it left no model to register",
            where=str(run_folder),
            remedy="choose a run that succeeded",
        )
    description = read_json(run_folder / "model" / "model.json", "overnight.model/1")
    weights = run_folder / "model" / WEIGHTS
    if not weights.is_file():
        raise RegistryError("the weights are missing", where=str(weights), remedy="choose another run")
    digest = sha256_file(weights)
    claims = {"model.json": description["weights"]["sha256"], "run.json": run["weights_sha256"]}
    for source, claimed in claims.items():
        if claimed != digest:
            raise RegistryError(
                f"the weights' SHA-256 is {digest[:12]}… but {source} says {str(claimed)[:12]}…",
                where=str(weights),
                remedy="the file was changed after the run; choose another run",
            )
    return digest


def _numbers(folder: Path) -> list[int]:
    present = (folder / "versions").glob("*/version.json")
    return sorted(int(path.parent.name) for path in present if path.parent.name.isdecimal())


def _read(folder: Path, number: int) -> ModelVersion:
    path = folder / "versions" / str(number)
    record = read_json(path / "version.json", "overnight.version/1")
    if (record.get("name"), record.get("version")) != (folder.name, number):
        raise RegistryError(
            f"version.json speaks of {record.get('name')}:{record.get('version')}",
            where=str(path),
            remedy="the folder was moved or edited; put it back where it was",
        )
    fields = ("name", "version", "run_id", "created", "weights_sha256", "run_sha256")
    return ModelVersion(**{field: record[field] for field in fields}, folder=path)


def _listed(values: list[int] | list[str]) -> str:
    return ", ".join(str(value) for value in values) if values else "none"
