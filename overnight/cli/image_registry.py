"""`overnight image registry`: the registry that local builds push to, for as long as one wants it."""

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, console, environment
from overnight.errors import OvernightError
from overnight.images.local import LOCAL_REGISTRY

RegistryOption = Annotated[str, typer.Option("--registry", metavar="HOST:PORT", help="Where, on this machine.")]
RootOption = Annotated[
    Path | None, typer.Option("--root", help="Its folder is ROOT/registry. Default: the environment's root.")
]


def add(group: typer.Typer) -> None:
    """Add the command."""
    group.command("registry")(registry)


def registry(
    registry: RegistryOption = LOCAL_REGISTRY, config: ConfigOption = DEFAULT_CONFIG, root: RootOption = None
) -> None:
    """Serve the images of local builds until Ctrl-C; without TLS and passwords, to this machine only."""
    from overnight.builds.registry_process import serving

    folder = (root or environment(config).root_path).absolute() / "registry"
    leave = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: leave.set())
    with serving(registry, folder) as mine:
        if not mine:
            raise OvernightError("a registry answers here already", where=registry, remedy="use that one")
        console.print(f"{registry}  {folder}", markup=False)
        leave.wait()
