"""A whole local build: source, registry, base images, steps, result. The command line's one function."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from overnight.builds import bases, containers
from overnight.builds.errors import BuildError
from overnight.builds.file import BuildFile
from overnight.builds.publish import Attester, Publisher
from overnight.builds.registry_process import parse_local_host, serving
from overnight.builds.result import BuildResult
from overnight.builds.runner import Listener, RunOptions, run_build
from overnight.builds.selection import image_names, select
from overnight.builds.step import Place
from overnight.builds.substitutions import expand, used, values_of
from overnight.builds.values import Revision, check_overrides, given
from overnight.builds.workspace import Checkout, copy_source, find_checkout
from overnight.files import locked
from overnight.images.reference import Reference

OWN_FOLDERS = ("registry", "builds", "releases", "keys", "containers", "runs", "models", "shards", "snapshots")
"""Below the root: what builds and runs leave there is never source, even where git does not ignore it."""


@dataclass(frozen=True, kw_only=True)
class LocalBuild:
    """What is asked for."""

    build: BuildFile
    names: Sequence[str]
    """Images of the file; none is all."""
    root: Path
    """The environment's root: results, registry, releases and keys stand there."""
    registry: str
    """localhost:PORT."""
    overrides: Mapping[str, str]
    """Substitutions of the command line."""
    bases: Path | None
    """References of base images; None: stand-ins, made when they are not there."""
    store: Path
    """podman's images and its settings."""
    build_id: str
    clock: Callable[[], datetime]
    listener: Listener
    note: Callable[[str], None]
    """Told what the user should know and did not ask for."""
    keep: bool = False
    """Leave the workspace where it is."""


def build_locally(request: LocalBuild) -> BuildResult:
    """Run the build; its result says how it went.

    Raises OvernightError for what must be put right first: missing tools, a port that is taken, another build in the
    same folder, an unknown name. KeyboardInterrupt passes through once everything that ran has ended.
    """
    parse_local_host(request.registry)
    containers.check_tools()
    checkout = find_checkout(request.build.path.absolute().parent)
    with (
        locked(request.root / "builds", "image build"),
        _store(request.store),
        _place(request) as place,
        serving(request.registry, request.root / "registry"),
    ):
        hidden = [request.root / name for name in OWN_FOLDERS]
        revision = Revision(checkout=checkout, content=copy_source(checkout, place.workspace, [*hidden, request.store]))
        if revision.note is not None:
            request.note(revision.note)
        environment = containers.environment(request.store, request.registry)
        build, values = _prepared(request, revision, environment)
        return run_build(build, _options(request, revision, place, values, environment, build))


def _prepared(
    request: LocalBuild, revision: Revision, environment: Mapping[str, str]
) -> tuple[BuildFile, dict[str, str]]:
    """The build with the wanted images only, and what it is given."""
    build, checkout = request.build, revision.checkout
    passed = given(revision, request.root, request.registry, request.build_id, _relative(build.path, checkout))
    known = {**passed, **dict.fromkeys(bases.KEYS, "")}
    check_overrides(request.overrides, known, build.data.get("substitutions", {}))
    build = select(build, request.names, values_of(build, {**known, **request.overrides}))
    wanted = (used(build) & set(bases.KEYS)) - set(request.overrides)
    images = _base_images(request, checkout, environment, wanted) if wanted else {}
    return build, {**known, **images, **request.overrides}


def _base_images(
    request: LocalBuild, checkout: Checkout, environment: Mapping[str, str], wanted: set[str]
) -> dict[str, str]:
    if request.bases is not None:
        named = bases.read_bases(request.bases)
        if lacking := sorted(wanted - set(named)):
            raise BuildError(f"{lacking[0]} is missing, and the build needs it", where=str(request.bases))
        return named
    path = request.root / "bases.json"
    found = bases.usable(path, request.registry, _exists)
    if found is not None:
        return found
    request.note("Making stand-ins for the base images, once: some minutes")
    request.listener.began(0, 1, "base images")
    return bases.bootstrap(checkout.folder, path, request.registry, environment, request.listener.line)


def _options(
    request: LocalBuild,
    revision: Revision,
    place: Place,
    values: Mapping[str, str],
    environment: Mapping[str, str],
    build: BuildFile,
) -> RunOptions:
    publisher = Publisher(environment, place.folder)
    checkout = revision.checkout
    attester = Attester(
        key=request.root / "keys" / "attestation.pem",
        source=values["_SOURCE"],
        commit=None if checkout.dirty else checkout.commit,
        build_id=request.build_id,
        config=_relative(build.path, checkout),
        substitutions=_own(build, values),
        base_images=_bases_of(build, values_of(build, values)),
    )
    return RunOptions(
        build_id=request.build_id,
        place=place,
        records=request.root / "builds",
        given=values,
        containers=environment,
        push=publisher.push,
        attest=attester.attest,
        listener=request.listener,
        clock=request.clock,
        tidy=lambda: publisher.remove_containers(request.build_id),
    )


def _bases_of(build: BuildFile, values: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The base images in the steps of each image, by the image's HOST/PATH:TAG."""
    found = {}
    for text, name in zip(build.data.get("images", []), image_names(build, values), strict=True):
        keys = used(select(build, [name], values)) & set(bases.KEYS)
        image = expand(text, values, dynamic=True, loose=True)
        found[image] = tuple(values[key] for key in sorted(keys) if values.get(key))
    return found


def _own(build: BuildFile, values: Mapping[str, str]) -> dict[str, str]:
    """The user's own substitutions that the file uses."""
    names = used(build) | set(build.data.get("substitutions", {}))
    return {name: value for name, value in values_of(build, values).items() if name in names and name.startswith("_")}


def _relative(path: Path, checkout: Checkout) -> str:
    path = path.absolute()
    return str(path.relative_to(checkout.folder)) if path.is_relative_to(checkout.folder) else path.name


def _exists(reference: Reference) -> bool:
    from overnight.images.registry import registry_for

    return registry_for(reference).exists(reference.path, reference.digest or "")


@contextlib.contextmanager
def _place(request: LocalBuild) -> Iterator[Place]:
    """A folder of the build's own, gone with it unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="overnight-build-"))
    try:
        yield Place(folder)
    finally:
        if request.keep:
            request.note(f"Kept: {folder}")
        else:
            _remove(folder)


@contextlib.contextmanager
def _store(folder: Path) -> Iterator[None]:
    """podman's folder, for this build alone."""
    with locked(folder, "build"):
        try:
            yield
        finally:
            containers.release(folder)


def _remove(folder: Path) -> None:
    """Also folders that a step made unreadable for itself."""

    def open_up(function: Any, path: str, error: Any) -> None:
        with contextlib.suppress(OSError):
            Path(path).parent.chmod(0o700)
            function(path)

    shutil.rmtree(folder, onerror=open_up)
