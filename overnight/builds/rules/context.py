"""What the checks of a build file know."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from overnight.builds.commands import Command
from overnight.builds.file import BuildFile
from overnight.forms.findings import Finding


@dataclass(frozen=True)
class Context:
    """A build and its surroundings."""

    build: BuildFile
    given: Mapping[str, str]
    """What the trigger passes."""
    values: Mapping[str, str]
    """Every substitution's value, the file's own too."""
    commands: tuple[Command, ...]
    root: Path | None
    """The repository that the build works on; None when it is not known: then nothing is said about its files."""


Check = Callable[[Context], Iterable[Finding]]
"""A pure function of a build and of the files that it names."""

SCHEMA = "Cloud Build, build config file schema"
"""docs.cloud.google.com/build/docs/build-config-file-schema"""
SUBSTITUTING = "Cloud Build, Substituting variable values"
"""docs.cloud.google.com/build/docs/configuring-builds/substitute-variable-values"""
VALIDATE = "cloud-build-local, validate.go"
"""The service's own checks as far as they were published (GoogleCloudPlatform/cloud-build-local, archived)."""
