"""What a person may call a model: its name in the registry, `name:version`, a run id or a folder."""

from pathlib import Path

from overnight.config import Environment
from overnight.models import promotions, registry
from overnight.models.registry import ModelVersion, RegistryError

SHOWN = 5


def model_folder(environment: Environment, reference: str) -> Path:
    """The folder with model.json and model.safetensors that `reference` means.

    Tried in this order: a folder that holds model.json or model/model.json, a run id, the registry. Raises
    RegistryError with what exists when nothing fits.
    """
    for folder in (Path(reference), Path(reference) / "model", environment.runs_path / reference / "model"):
        if (folder / "model.json").is_file():
            return folder
    # A plain name is the registry's, even where a folder of that name stands here by chance.
    if "/" in reference and Path(reference).is_dir():
        raise RegistryError("this folder holds no model.json", where=reference, remedy="give a model's folder")
    if (environment.runs_path / reference).is_dir():
        raise RegistryError(
            "this run left no model", where=str(environment.runs_path / reference), remedy="choose another run"
        )
    return registered(environment.models_path, reference).folder


def known_name(models: Path, name: str) -> str:
    """`name` when the registry has such a model; raises RegistryError naming those it has."""
    known = registry.names(models)
    if name not in known:
        raise RegistryError(
            f"there is no model {name!r}",
            where=str(models),
            remedy=f"models here: {', '.join(known)}" if known else "promote a run first: overnight model promote RUN",
        )
    return name


def registered(models: Path, reference: str) -> ModelVersion:
    """The version that `name`, `name:champion` or `name:<number>` means; raises RegistryError with what exists."""
    name, _, wanted = reference.partition(":")
    known_name(models, name)
    if wanted in ("", "champion"):
        champion = promotions.champion_now(models, name)
        if champion is None:
            raise RegistryError(
                f"model {name!r} has no champion yet", where=str(models), remedy=f"name a version, such as {name}:1"
            )
        return registry.version(models, name, champion)
    if not wanted.isdecimal():
        raise RegistryError(
            f"{wanted!r} is neither a version nor 'champion'", where=reference, remedy=f"write it like {name}:1"
        )
    return registry.version(models, name, int(wanted))


def run_folder(runs: Path, run_id: str) -> Path:
    """The folder of a run that has ended; raises RegistryError naming the newest runs when there is none."""
    folder = runs / run_id
    found = sorted((entry.name for entry in runs.iterdir() if entry.is_dir()), reverse=True) if runs.is_dir() else []
    existing = [name for name in found if not name.startswith(".")]
    if run_id not in existing:
        newest = f"the newest runs are {', '.join(existing[:SHOWN])}" if existing else "no run exists yet"
        raise RegistryError(f"there is no run {run_id!r}", where=str(runs), remedy=newest)
    if not (folder / "run.json").is_file():
        raise RegistryError(
            "this run has no run record: it has not ended, or was killed",
            where=str(folder),
            remedy="wait until it ends, or choose another run",
        )
    return folder
