"""One step of a build as a process of this machine: its command, environment and folder."""

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.builds.errors import BuildError
from overnight.builds.substitutions import expand

WORKSPACE = "/workspace"
"""Where the service has the source; local steps have it elsewhere."""
DOCKER_IMAGE = re.compile(r"(?:^|/)cloud-builders/docker(?:[:@]|$)|^docker(?:[:@]|$)")
"""Images whose entrypoint is docker itself."""
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where this process has no PATH itself."""
NETWORK = re.compile(
    r"(?i:https?_proxy|no_proxy|all_proxy)|PIP_\w+|UV_\w+|npm_config_\w+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE"
    r"|CURL_CA_BUNDLE|NODE_EXTRA_CA_CERTS|TMPDIR|TZ"
)
"""Variables of this machine that steps keep: how it reaches package indexes, where temporary files go."""


@dataclass(frozen=True)
class Place:
    """The folders of one running build; all of them go with it."""

    folder: Path

    @property
    def workspace(self) -> Path:
        """The source; steps leave files for each other here."""
        return self.folder / "workspace"

    @property
    def home(self) -> Path:
        """Steps' HOME, shared as in the service (/builder/home)."""
        return self.folder / "home"

    @property
    def programs(self) -> Path:
        """Stand-ins that come first on PATH."""
        return self.folder / "bin"

    def output(self, index: int) -> Path:
        """Step `index`'s BUILDER_OUTPUT."""
        return self.folder / "outputs" / str(index)

    def script(self, index: int) -> Path:
        """Step `index`'s script."""
        return self.folder / "scripts" / str(index)

    def volume(self, name: str) -> Path:
        """A volume that steps share."""
        return self.folder / "volumes" / name

    def make(self) -> None:
        """Make the folders that are always there; not the workspace, which is copied."""
        for folder in (self.home, self.programs, self.folder / "outputs", self.folder / "scripts"):
            folder.mkdir()


@dataclass(frozen=True)
class Command:
    """What is started."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path


def check_step(index: int, step: Any, options: Any, values: Mapping[str, str]) -> None:
    """Raise BuildError for a step that no process here can stand in for; asked of all before the first one starts."""
    where = f"step {index}" + (f" ({step.id})" if step.id else "")
    if step.secret_env or options.secret_env:
        names = ", ".join(sorted({*step.secret_env, *options.secret_env}))
        raise BuildError(
            f"secretEnv asks for {names}, and there is no Secret Manager here",
            where=where,
            remedy="run this build in Google Cloud, or leave the step out",
        )
    if not step.script and not step.entrypoint and not _is_docker(step, values):
        raise BuildError(
            "it has neither entrypoint nor script, and a local build does not know the image's own entrypoint",
            where=where,
            remedy="give the step an entrypoint, such as bash or docker",
        )


def command(index: int, step: Any, options: Any, values: Mapping[str, str], place: Place) -> Command:
    """The process for a step; writes its script and makes its folders. Raises BuildError for a folder outside."""
    volumes = {volume.path: place.volume(volume.name) for volume in (*options.volumes, *step.volumes)}
    paths = {WORKSPACE: place.workspace, **volumes}
    for folder in (*volumes.values(), place.output(index)):
        folder.mkdir(parents=True, exist_ok=True)

    def filled(text: str) -> str:
        # In this order: a value may be a folder of this machine, whatever it is called.
        return expand(localized(text, paths), values, dynamic=True, loose=True)

    if step.script:
        arguments = [str(_script(place.script(index), localized(step.script, paths)))]
    else:
        arguments = [filled(step.entrypoint) or "docker", *map(filled, step.args)]
    written = dict(_entry(filled(text)) for text in (*options.env, *step.env))
    automapped = step.automap_substitutions if "automap_substitutions" in _set(step) else options.automap_substitutions
    environment = {
        **base_environment(os.environ, place),
        "BUILDER_OUTPUT": str(place.output(index)),
        **(dict(values) if automapped and step.script else {}),
        **written,
    }
    return Command(tuple(arguments), environment, _folder(filled(step.dir_), place, volumes))


def base_environment(outer: Mapping[str, str], place: Place) -> dict[str, str]:
    """What every step sees: a clean environment, the Python that runs Overnight first on PATH after the stand-ins."""
    kept = {name: value for name, value in outer.items() if NETWORK.fullmatch(name)}
    home = Path(outer.get("HOME", "/"))
    settings = home / ".config" / "pip" / "pip.conf"
    if settings.is_file():
        # HOME is another one for steps, and how to reach an index is a matter of the machine.
        kept.setdefault("PIP_CONFIG_FILE", str(settings))
    kept.setdefault("PIP_CACHE_DIR", str(home / ".cache" / "pip"))
    return {
        **kept,
        "PATH": f"{place.programs}:{Path(sys.executable).parent}:{outer.get('PATH', SYSTEM_PATH)}",
        "HOME": str(place.home),
        "LANG": "C.UTF-8",
    }


def localized(text: str, paths: Mapping[str, Path]) -> str:
    """`text` with each absolute path of the service that begins with one of `paths` put where it is here."""
    known = "|".join(re.escape(path) for path in sorted(paths, reverse=True))
    return re.sub(rf"(?<![\w./-])({known})(?![\w.-])", lambda found: str(paths[found[1]]), text)


def _is_docker(step: Any, values: Mapping[str, str]) -> bool:
    return DOCKER_IMAGE.search(expand(step.name, values, dynamic=True, loose=True)) is not None


def _script(path: Path, text: str) -> Path:
    # "If you don't prefix the script string with a shebang, Cloud Build uses #!/bin/sh" (page "Running bash scripts").
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


def _entry(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def _set(step: Any) -> set[str]:
    """Names of the fields that the file sets."""
    return {field.name for field, _ in step.ListFields()}


def _folder(text: str, place: Place, volumes: Mapping[str, Path]) -> Path:
    """`dir`, made when it is not there, as Docker does."""
    folder = Path(os.path.normpath(place.workspace / text))
    if not any(folder.is_relative_to(root) for root in (place.workspace, *volumes.values())):
        raise BuildError(
            f"dir {text!r} is outside {WORKSPACE} and the step's volumes", remedy=f"give a folder below {WORKSPACE}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    return folder
