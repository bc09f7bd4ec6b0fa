"""`overnight image resolve`: from a tag to a digest."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from overnight.cli.context import DEFAULT_CONFIG, ConfigOption, JsonOption, console, environment, print_json

if TYPE_CHECKING:
    from overnight.images.artifact_registry import ArtifactRegistry
    from overnight.images.resolve import Resolved

ImageArgument = Annotated[
    str,
    typer.Argument(
        metavar="IMAGE", help="HOST/PATH/NAME:TAG, or NAME:TAG of the environment's own repository.", show_default=False
    ),
]
PlatformOption = Annotated[
    str | None,
    typer.Option("--platform", help="Of a manifest list, the image for this platform, such as linux/amd64."),
]
IndexOption = Annotated[bool, typer.Option("--allow-index", help="The digest of a manifest list will do.")]
EndpointOption = Annotated[
    str | None,
    typer.Option("--endpoint", help="Where Artifact Registry's API is served over gRPC. Default: at Google's."),
]


def add(group: typer.Typer) -> None:
    """Add the command to `overnight image`."""
    group.command("resolve")(resolve)


def resolve(
    image: ImageArgument,
    config: ConfigOption = DEFAULT_CONFIG,
    platform: PlatformOption = None,
    allow_index: IndexOption = False,
    endpoint: EndpointOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print an image's reference by digest: HOST/PATH/NAME@sha256:….

    A tag is looked up in Artifact Registry, or in the registry that the reference names. Where both tag and digest
    are given, the tag must still point to the digest.
    """
    from overnight.images.descriptor import parse_platform
    from overnight.images.reference import parse
    from overnight.images.resolve import Wanted, resolve_image

    own = _own_repository(image, config)
    reference = parse(f"{own}/{image}" if _is_bare(image) else image)
    wanted = Wanted(parse_platform(platform) if platform is not None else None, allow_index, own)
    found = resolve_image(reference, wanted, artifact_registry=_artifact_registry(endpoint))
    if as_json:
        print_json(_facts(found))
    else:
        console.print(str(found.reference), markup=False)


def _is_bare(image: str) -> bool:
    """Whether it names no registry at all: then it is one of the environment's images."""
    return "/" not in image and bool(image.strip())


def _own_repository(image: str, config: Path) -> str:
    """The environment's repository; a reference with a host needs no environment file."""
    from overnight.images.local import LOCAL_REPOSITORY, repository_of

    if _is_bare(image) or config != DEFAULT_CONFIG or config.exists():
        return repository_of(environment(config))
    return LOCAL_REPOSITORY


def _artifact_registry(endpoint: str | None) -> "ArtifactRegistry | None":
    if endpoint is None:
        return None
    from overnight.errors import OvernightError
    from overnight.images.artifact_registry import ArtifactRegistry, connect
    from overnight.jobs.endpoint import parse_endpoint

    place = parse_endpoint(endpoint)
    if place.transport != "grpc":
        raise OvernightError(f"{endpoint!r} is not gRPC", where="--endpoint", remedy="write HOST:PORT")
    return ArtifactRegistry(connect(place.address, encrypted=place.encrypted))


def _facts(found: "Resolved") -> dict[str, object]:
    """An OCI descriptor's facts, and the reference."""
    return {
        "reference": str(found.reference),
        "digest": found.reference.digest,
        "media_type": found.media_type,
        "size": found.size,
        "platform": str(found.platform) if found.platform else None,
    }
