"""What stacks are given: an environment that holds together, its names, its labels."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

from infra.names import Names
from overnight.config import ConfigError, Environment, GoogleConfig


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One environment, checked across fields and against the other environments beside it."""

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


def settings(environment: Environment, path: Path, *, today: date) -> Settings:
    """Check `environment` (read from `path`) as a whole.

    Raises ConfigError with file, field and remedy.
    """
    if environment.google is None:
        raise ConfigError(
            "this environment has no Google Cloud project",
            where=f"{path}, google",
            remedy="add the section; config/example.yaml shows every field",
        )
    names = Names(environment=environment.environment, google=environment.google)
    return Settings(environment=environment.environment, google=environment.google, names=names)
