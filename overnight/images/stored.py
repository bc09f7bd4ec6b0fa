"""What a registry stores under an image's digest: whether it is there, is one image, and is what its digests say."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from overnight.images.descriptor import Descriptor
from overnight.images.errors import ImageError
from overnight.images.labels import LARGEST_CONFIG, Labels, labels_of
from overnight.images.manifest import Manifest, NotAnImage, platforms_of
from overnight.images.reference import Reference
from overnight.images.registry import NotFound, Registry
from overnight.images.registry_errors import OtherBytes
from overnight.images.resolve import CONFIG_TYPES
from overnight.images.verdict import Check
from overnight.wording import counted

LAYER_TYPES = frozenset(
    {
        *(f"application/vnd.oci.image.layer.v1.tar{packed}" for packed in ("", "+gzip", "+zstd")),
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
    }
)
"""Not the `nondistributable` and `foreign` ones: those bytes come from elsewhere."""
Progress = Callable[[int, int], None]
"""Called with the bytes that were read and the bytes that there are."""


@dataclass(frozen=True)
class Stored:
    """What was found."""

    checks: list[Check] = field(default_factory=list)
    labels: Labels | None = None
    """None when the config could not be read."""
    there: bool = False
    """Whether the registry has something under the digest."""


def check_stored(reference: Reference, registry: Registry, layers: bool, progress: Progress) -> Stored:
    """Fetch the manifest, the config and, with `layers`, every layer, and compare them with their digests."""
    checks, manifest = _manifest(reference, registry)
    if manifest is None:
        return Stored(checks, there=checks[0].passed)
    if manifest.is_index:
        problem = f"this is a manifest list ({platforms_of(manifest)}), and a job runs one image"
        checks.append(Check("image", False, f"{problem}; pin the digest of one platform's image"))
        return Stored(checks, there=True)
    if manifest.artifact_type is not None:
        checks.append(Check("image", False, f"this is an artifact of the type {manifest.artifact_type} and no image"))
        return Stored(checks, there=True)
    checks += [Check("image", True, "a single image, no manifest list"), _media_types(manifest)]
    config, labels = _config(reference, registry, manifest)
    checks.append(config)
    checks.append(_layers(reference, registry, manifest, progress) if layers else _sizes(reference, registry, manifest))
    return Stored(checks, labels, there=True)


def _manifest(reference: Reference, registry: Registry) -> tuple[list[Check], Manifest | None]:
    there = Check("manifest", True, f"{registry.host} has it")
    try:
        manifest = registry.manifest(reference.path, reference.digest or "")
    except NotFound as error:
        hint = "a digest of another registry or repository is not known here"
        return [Check("manifest", False, f"{_about(error)} ({hint})")], None
    except OtherBytes as error:
        return [there, Check("digest", False, _about(error))], None
    except NotAnImage as error:
        return [there, Check("image", False, _about(error))], None
    except ImageError as error:
        return [Check("manifest", False, _about(error), judged=False)], None
    return [there, Check("digest", True, f"its {len(manifest.body):,} bytes hash to the digest")], manifest


def _media_types(manifest: Manifest) -> Check:
    config = manifest.config
    if config is None or config.media_type not in CONFIG_TYPES:
        return Check("media types", False, f"the config is {config and config.media_type!r:.100}, of no known image")
    for number, layer in enumerate(manifest.layers, start=1):
        if layer.media_type not in LAYER_TYPES:
            return Check("media types", False, f"layer {number} is {layer.media_type!r:.100}, no layer of an image")
    return Check("media types", True, f"{manifest.media_type.rpartition('.')[0]}, config and layers known")


def _config(reference: Reference, registry: Registry, manifest: Manifest) -> tuple[Check, Labels | None]:
    config = manifest.config
    if config is None or config.size > LARGEST_CONFIG:
        return Check("config", False, f"the config has {config.size if config else 0:,} bytes, too many for one"), None
    try:
        data = registry.blob(reference.path, config.digest)
    except ImageError as error:
        return _failed("config", "", error), None
    if len(data) != config.size:
        return Check(
            "config", False, f"the config has {len(data):,} bytes, and the manifest says {config.size:,}"
        ), None
    try:
        labels = labels_of(data)
    except ImageError as error:
        return Check("config", False, _about(error)), None
    return Check("config", True, f"its {len(data):,} bytes hash to the digest"), labels


def _layers(reference: Reference, registry: Registry, manifest: Manifest, progress: Progress) -> Check:
    """Every byte of every layer; the first layer that is wrong is told, with how many others."""
    total, read = sum(layer.size for layer in manifest.layers), 0
    failed: list[Check] = []
    for what, layer in _numbered(manifest):
        before = read
        try:
            for piece in registry.stream(reference.path, layer.digest):
                read += len(piece)
                progress(read, total)
        except ImageError as error:
            failed.append(_failed("layers", what, error))
            continue
        if read - before != layer.size:
            problem = f"{what}: it has {read - before:,} bytes, and the manifest says {layer.size:,}"
            failed.append(Check("layers", False, problem))
    if failed:
        return _first(failed)
    return Check(
        "layers", True, f"{counted(len(manifest.layers), 'layer', 'layers')}, {total:,} bytes: as their digests say"
    )


def _sizes(reference: Reference, registry: Registry, manifest: Manifest) -> Check:
    """Whether the layers are there with the sizes that the manifest says; nothing about their bytes."""
    failed: list[Check] = []
    for what, layer in _numbered(manifest):
        try:
            size = registry.blob_size(reference.path, layer.digest)
        except ImageError as error:
            failed.append(_failed("layers", what, error))
            continue
        if size is None:
            failed.append(Check("layers", False, f"{what}: the registry does not have it"))
        elif size != layer.size:
            failed.append(
                Check("layers", False, f"{what}: it has {size:,} bytes, and the manifest says {layer.size:,}")
            )
    if failed:
        return _first(failed)
    return Check(
        "layers", True, f"{counted(len(manifest.layers), 'layer', 'layers')}, of the right sizes; no bytes were read"
    )


def _numbered(manifest: Manifest) -> Iterator[tuple[str, Descriptor]]:
    count = len(manifest.layers)
    for number, layer in enumerate(manifest.layers, start=1):
        yield f"layer {number} of {count}", layer


def _first(failed: list[Check]) -> Check:
    """What is known against the image comes before what could not be looked at."""
    worst = min(failed, key=lambda check: not check.judged)
    more = f" (and {counted(len(failed) - 1, 'other layer', 'other layers')})" if len(failed) > 1 else ""
    return Check(worst.name, False, f"{worst.message}{more}", worst.judged)


def _failed(name: str, what: str, error: ImageError) -> Check:
    message = f"{what}: {_about(error)}" if what else _about(error)
    return Check(name, False, message, judged=isinstance(error, NotFound | OtherBytes))


def _about(error: ImageError) -> str:
    """What is wrong with the image itself, which the sentence around it names."""
    return f"{error.problem}; {error.remedy}" if error.remedy else error.problem
