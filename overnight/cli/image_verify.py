"""`overnight image verify`: whether an image is what its digest says, and was made by whom and of what it should be."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import (
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    console,
    environment,
    print_json,
    progress_console,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from overnight.config import Environment
    from overnight.images.provenance import Expected, ProvenanceSource
    from overnight.images.registry import Registry
    from overnight.images.verdict import Check

PIPE_COLUMNS = 200
"""Where there is no terminal to fit into."""
LONG = 32 * 2**20
"""Bytes of layers from which on the reading of them is shown."""

ImageArgument = Annotated[str, typer.Argument(metavar="IMAGE", help="HOST/PATH/NAME@sha256:…")]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", help="The Git repository it must come from. Default: the environment's, if it has one."),
]
CommitOption = Annotated[str | None, typer.Option("--commit", help="The commit it must be built of. Default: any.")]
BuilderOption = Annotated[
    str | None,
    typer.Option(
        "--builder", help="The builder.id that must have built it. Default: Cloud Build, or the local builder."
    ),
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key",
        help="Public key (PEM) of attestations attached to the image. Default without Google Cloud: "
        "ROOT/keys/attestation.pub. With it: none, Cloud Build's own provenance counts.",
    ),
]
LayersOption = Annotated[bool, typer.Option("--layers/--no-layers", help="Read every byte, or compare sizes alone.")]
EndpointOption = Annotated[
    str | None,
    typer.Option(
        "--endpoint",
        envvar="OVERNIGHT_CONTAINER_ANALYSIS_ENDPOINT",
        help="HOST:PORT of Container Analysis (gRPC). Default: Google's.",
    ),
]


def add(group: typer.Typer) -> None:
    """Add the command to `overnight image`."""
    group.command("verify")(verify)


def verify(
    image: ImageArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    source: SourceOption = None,
    commit: CommitOption = None,
    builder: BuilderOption = None,
    key: KeyOption = None,
    layers: LayersOption = True,
    endpoint: EndpointOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check an image's bytes, its provenance and its labels; a row a check, then the verdict.

    Exit code 0: verified. 3: refused. 2: it could not be judged.
    """
    from overnight.images.reference import parse
    from overnight.images.registry import registry_for
    from overnight.images.verdict import verdict
    from overnight.images.verify import verify as checks_of

    surroundings = environment(config)
    reference = parse(image)
    registry = registry_for(reference)
    expected = _expected(surroundings, source, commit, builder)
    sources = _sources(surroundings, registry, key, endpoint)
    with _progress() as progress:
        checks = checks_of(
            reference,
            expected,
            registry=registry,
            sources=sources,
            places=_places(surroundings),
            layers=layers,
            progress=progress,
        )
    end = verdict(str(reference), checks)
    if as_json:
        rows = [{"name": check.name, "result": check.word.lower(), "message": check.message} for check in checks]
        print_json({"image": str(reference), "exit_code": end.exit_code, "verdict": end.sentence, "checks": rows})
    else:
        _print(checks)
        console.print(end.sentence, markup=False)
    raise typer.Exit(end.exit_code)


def _expected(surroundings: "Environment", source: str | None, commit: str | None, builder: str | None) -> "Expected":
    from overnight.images.provenance import CLOUD_BUILDER, LOCAL_BUILDER, Expected
    from overnight.images.source_address import normal_source, parse_commit, parse_source

    google = surroundings.google
    return Expected(
        source=parse_source(source, "--source")
        if source is not None
        else normal_source(google.cloud_build.repository.remote_uri)
        if google
        else None,
        builder=builder or (CLOUD_BUILDER if google else LOCAL_BUILDER),
        commit=parse_commit(commit, "--commit") if commit is not None else None,
    )


def _sources(
    surroundings: "Environment", registry: "Registry", key: Path | None, endpoint: str | None
) -> "list[ProvenanceSource]":
    """Where statements are looked for; in Google Cloud attached ones count only beside Cloud Build's."""
    from overnight.images.attach import AttachedAttestations
    from overnight.images.errors import ImageError
    from overnight.images.keys import read_public_key
    from overnight.images.occurrences import BuildOccurrences, grafeas_client
    from overnight.images.provenance import Unavailable
    from overnight.jobs.endpoint import parse_endpoint

    sources: list[ProvenanceSource] = []
    if surroundings.google:
        address = parse_endpoint(endpoint)
        sources.append(BuildOccurrences(grafeas_client(address.address, address.encrypted)))
    if key is not None or not surroundings.google:
        file = key or surroundings.root_path / "keys" / "attestation.pub"
        try:
            sources.append(AttachedAttestations(registry, [read_public_key(file)]))
        except ImageError as error:
            # A key that was named must be there; without the usual one the image's bytes can be judged all the same.
            if key is not None:
                raise
            sources.append(Unavailable("attestations", error))
    return sources


def _places(surroundings: "Environment") -> list[str]:
    from overnight.images.local import repository_of
    from overnight.images.verify import THIS_MACHINE

    if surroundings.google is None:
        return [THIS_MACHINE]
    return [repository_of(surroundings), *surroundings.google.artifact_registry.allowed_registries]


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar for the bytes of layers, where there are many and somebody looks."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TransferSpeedColumn

    if not progress_console.is_terminal:
        yield lambda read, total: None
        return
    bar = Progress(
        "Layers", BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=progress_console, transient=True
    )
    with bar:
        task = bar.add_task("layers", visible=False)
        yield lambda read, total: bar.update(task, completed=read, total=total, visible=total >= LONG)


def _print(checks: "Sequence[Check]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colours = {"pass": "green", "FAIL": "red", "unknown": "yellow"}
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("check", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("found", overflow="fold")
    for check in checks:
        table.add_row(check.name, Text(check.word, style=colours[check.word]), Text(check.message))
    wide = console if console.is_terminal else Console(highlight=False, width=PIPE_COLUMNS)
    wide.print(table)
