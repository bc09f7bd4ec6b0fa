"""What stacks are given: an environment that holds together, its names, its labels."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from infra.checks import environment_mistakes
from infra.siblings import Siblings, sibling_mistakes, siblings
from overnight.config import ConfigError, Environment, GoogleConfig
from overnight.config.mistakes import first_of
from overnight.config.names import Names
from overnight.config.training import PersistentResource


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One environment, checked across fields and against the other environments beside it."""

    path: Path
    """The file it was read from."""
    environment: str
    google: GoogleConfig
    names: Names

    @property
    def labels(self) -> dict[str, str]:
        """On everything that may carry labels; each stack adds `stack`."""
        return {**self.google.labels, "environment": self.environment, "managed_by": "overnight"}

    @property
    def allowed_regions(self) -> list[str]:
        """Where policies let resources stand."""
        return list(self.google.allowed_regions or [self.google.region])


def settings(environment: Environment, path: Path, *, today: date, beside: Siblings | None = None) -> Settings:
    """Check `environment` (read from `path`) as a whole, and against those `beside` it (default: in the same folder).

    `today` is the day that dates in the file are compared with. Raises ConfigError with file, field and remedy.
    """
    if environment.google is None:
        raise ConfigError(
            "this environment has no Google Cloud project",
            where=f"{path}, google",
            remedy="add the section; config/example.yaml shows every field",
        )
    names = Names(environment=environment.environment, google=environment.google)
    others = siblings(path) if beside is None else beside
    found = [*environment_mistakes(names, today), *sibling_mistakes(names, others.known)]
    if found:
        raise first_of(path, found)
    return Settings(path=path, environment=environment.environment, google=environment.google, names=names)


def idle_notes(settings: Settings) -> list[str]:
    """What each pool costs with no job on it, one line a pool: said on every run, for nobody looks at idle machines."""
    return [
        f"{resource.name}: idle, its {_machines(resource)} cost {resource.idle_usd_per_day:.2f} USD a day "
        f"(prices of {resource.prices_as_of}, {settings.path})"
        for resource in settings.google.persistent_resources
        if resource.enabled
    ]


def _machines(resource: PersistentResource) -> str:
    pools = resource.resource_pools
    return " and ".join(f"{pool.billed_replicas} x {pool.machine_spec.machine_type}" for pool in pools)
