"""`overnight image release`: keep the digests that a commit was built into."""

import os
from pathlib import Path
from typing import Annotated

import typer

from overnight.errors import OvernightError
from overnight.wording import counted

CommitOption = Annotated[str, typer.Option("--commit", metavar="SHA", help="The whole commit id.")]
SourceOption = Annotated[str, typer.Option("--source", metavar="URL", help="The Git repository's https address.")]
BuildIdOption = Annotated[str, typer.Option("--build-id", metavar="ID", help="The build that made the images.")]
ReleasesOption = Annotated[str, typer.Option("--releases", metavar="PLACE", help="gs://BUCKET/releases, or a folder.")]
ImagesOption = Annotated[
    list[str],
    typer.Option("--image", metavar="NAME=REFERENCE", help="An image as HOST/PATH/NAME@sha256:…; repeatable."),
]
SbomsOption = Annotated[
    list[str] | None, typer.Option("--sbom", metavar="NAME=FILE", help="The SPDX list of what it holds; repeatable.")
]


def add(group: typer.Typer) -> None:
    """Add the command."""
    group.command("release")(release)


def release(
    commit: CommitOption,
    source: SourceOption,
    build_id: BuildIdOption,
    releases: ReleasesOption,
    image: ImagesOption,
    sbom: SbomsOption = None,
) -> None:
    """Write PLACE/COMMIT.json, the digests of a commit's images, with each image's SBOM beside it.

    The same again is fine; other digests for the same commit are refused. In Cloud Build the digests also become the
    step's output.
    """
    from overnight.files import canonical_json, write_atomically
    from overnight.images.release import publish, released

    files = {name: _spdx(Path(file)) for name, file in _pairs(sbom or [], "--sbom", "FILE").items()}
    made = publish(releases, released(commit, source, build_id, _pairs(image, "--image", "REFERENCE")), files)
    if folder := os.environ.get("BUILDER_OUTPUT"):
        # Cloud Build keeps the first 50 KB of it, in results.buildStepOutputs.
        digests = {name: item.digest for name, item in made.images.items()}
        write_atomically(Path(folder) / "output", canonical_json(digests))
    for name, item in sorted(made.images.items()):
        typer.echo(f"{name} {item.reference}")
    count = counted(len(made.images), "image", "images")
    typer.echo(f"{count} of commit {made.commit} released in {releases.rstrip('/')}/{made.commit}.json.", err=True)


def _pairs(texts: list[str], option: str, what: str) -> dict[str, str]:
    """NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise OvernightError(f"{text!r} is not NAME={what}", where=option, remedy=f"write NAME={what}")
        if name in found:
            raise OvernightError(f"{name} is given twice", where=option, remedy="give it once")
        found[name] = value
    return found


def _spdx(path: Path) -> bytes:
    """An SBOM's bytes: SPDX 2.3 in JSON says its version in `spdxVersion` (spdx.github.io/spdx-spec)."""
    import json

    data = path.read_bytes()
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not isinstance(content.get("spdxVersion"), str):
        raise OvernightError(
            "this is no SBOM in SPDX's JSON", where=str(path), remedy="write it with syft -o spdx-json"
        )
    return data
