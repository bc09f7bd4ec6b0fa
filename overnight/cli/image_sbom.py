"""`overnight image sbom`: list what an image archive holds."""

import os
from pathlib import Path
from typing import Annotated

import typer

from overnight.errors import OvernightError

ArchiveArgument = Annotated[
    Path, typer.Argument(metavar="ARCHIVE", help="What docker save or podman save wrote, or an OCI archive.")
]
OutputOption = Annotated[Path, typer.Option("--output", metavar="FILE", help="Where the list is written.")]


def add(group: typer.Typer) -> None:
    """Add the command."""
    group.command("sbom")(sbom)


def sbom(archive: ArchiveArgument, output: OutputOption) -> None:
    """Write the packages and files of an image as SPDX 2.3 in JSON; the same image gives the same bytes.

    The time it claims is $SOURCE_DATE_EPOCH (default 0), as the image's own.
    """
    from overnight.files import write_atomically
    from overnight.images.sbom import make_sbom

    text = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise OvernightError(f"{text!r} is no time", where="SOURCE_DATE_EPOCH", remedy="give seconds since 1970")
    write_atomically(output, make_sbom(archive, int(text)))
