"""`overnight image attest`: sign what an image was made of, and attach that to it in its registry."""

from pathlib import Path
from typing import Annotated

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, JsonOption, console, environment, print_json
from overnight.images.provenance import LOCAL_BUILDER

ImageArgument = Annotated[
    str, typer.Argument(metavar="IMAGE", help="HOST/PATH/NAME@sha256:…, already in its registry.")
]
KeyOption = Annotated[
    Path | None,
    typer.Option(
        "--key", help="Private key (PEM, P-256). Default: ROOT/keys/attestation.pem, made if it is not there."
    ),
]
SourceOption = Annotated[
    str | None, typer.Option("--source", help="The Git repository. Default: the image's label, which it must equal.")
]
CommitOption = Annotated[
    str | None, typer.Option("--commit", help="The whole commit id. Default: the image's label, which it must equal.")
]
BuilderOption = Annotated[str, typer.Option("--builder", help="Who built it: the builder.id of the statement.")]
BuildIdOption = Annotated[str | None, typer.Option("--build-id", help="Which build it was.")]
BuildFileOption = Annotated[
    str | None,
    typer.Option("--build-file", help="The build file's path in the repository, such as cloudbuild/images.yaml."),
]
BaseOption = Annotated[
    list[str], typer.Option("--base-image", help="A base image by digest; may be given several times.")
]


def add(group: typer.Typer) -> None:
    """Add the command to `overnight image`."""
    group.command("attest")(attest)


def attest(
    image: ImageArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    key: KeyOption = None,
    source: SourceOption = None,
    commit: CommitOption = None,
    builder: BuilderOption = LOCAL_BUILDER,
    build_id: BuildIdOption = None,
    build_file: BuildFileOption = None,
    base_image: BaseOption = [],  # noqa: B006 (typer copies it)
    as_json: JsonOption = False,
) -> None:
    """Attach a signed statement of who built an image, from which repository and commit.

    The same statement is attached once. `overnight image verify` reads it.
    """
    from overnight.images.attach import attest as attach
    from overnight.images.keys import key_pair, read_private_key
    from overnight.images.labels import origin, read_labels
    from overnight.images.provenance import Provenance
    from overnight.images.reference import parse_pinned
    from overnight.images.registry import registry_for

    reference = parse_pinned(image)
    private = read_private_key(key) if key else key_pair(environment(config).root_path / "keys" / "attestation.pem")
    registry = registry_for(reference)
    built_from, revision = origin(read_labels(registry, reference), source, commit, str(reference))
    provenance = Provenance(
        subject_digest=reference.digest or "",
        source=built_from,
        commit=revision,
        builder=builder,
        build_id=build_id,
        config=build_file,
        base_images=tuple(base_image),
    )
    digest = attach(registry, reference, provenance, private)
    if as_json:
        said = {"source": built_from, "commit": revision, "builder": builder, "key_id": private.public.key_id}
        print_json({"image": str(reference), "attestation": digest, **said})
        return
    console.print(f"{reference}", markup=False)
    console.print(f"  built from   {built_from} at {revision}", markup=False)
    console.print(f"  built by     {builder}", markup=False)
    console.print(f"  attestation  {digest}, signed by the key {private.public.key_id[:12]}", markup=False)
