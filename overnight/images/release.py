"""Releases: which digests the images of one commit have, in `PLACE/COMMIT.json` (docs/formats.md, overnight.release/1).

The same commit gives the same digests: a second build that gives others is refused, not written over the first.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from overnight.files import canonical_json, sha256_bytes
from overnight.images.errors import ImageError
from overnight.images.places import Place, place_of
from overnight.images.reference import Reference, parse_pinned
from overnight.images.source_address import COMMIT, parse_commit, parse_source

FORMAT = "overnight.release/1"
SHORTEST = 4
"""Digits of a commit, as in git."""


@dataclass(frozen=True)
class Sbom:
    """The list of what an image holds, in SPDX."""

    path: str
    """Relative to the place of releases."""
    sha256: str


@dataclass(frozen=True)
class ReleasedImage:
    """One image of a release."""

    reference: Reference
    """With its digest."""
    sbom: Sbom | None = None

    @property
    def digest(self) -> str:
        """`sha256:…`."""
        return str(self.reference.digest)


@dataclass(frozen=True)
class Release:
    """What one commit was built into."""

    commit: str
    source: str
    build_id: str
    images: Mapping[str, ReleasedImage]

    @property
    def digests(self) -> dict[str, str]:
        """Digests by HOST/PATH."""
        return {image.reference.repository: image.digest for image in self.images.values()}

    @property
    def text(self) -> bytes:
        """The manifest."""
        images = {
            name: {
                "reference": str(image.reference),
                "digest": image.digest,
                **({"sbom": asdict(image.sbom)} if image.sbom else {}),
            }
            for name, image in self.images.items()
        }
        head = {"format": FORMAT, "commit": self.commit, "source": self.source, "build_id": self.build_id}
        return canonical_json({**head, "images": images})


def released(commit: str, source: str, build_id: str, images: Mapping[str, str]) -> Release:
    """A release out of what somebody gave: `images` are references by name. Raises ImageError."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", build_id):
        raise ImageError(
            f"{build_id!r} is no build", where="--build-id", remedy="give the id, as Cloud Build's $BUILD_ID"
        )
    if not images:
        raise ImageError("a release has images, and none is given", where="--image", remedy="write NAME=REFERENCE")
    found = {name: ReleasedImage(_reference(name, text, f"--image {name}")) for name, text in images.items()}
    return Release(parse_commit(commit, "--commit"), parse_source(source, "--source"), build_id, found)


def publish(address: str, release: Release, sboms: Mapping[str, bytes]) -> Release:
    """Keep the release with the SBOMs of its images, the manifest last; ImageError when others are kept already."""
    place = place_of(address)
    images, files = dict(release.images), dict[str, bytes]()
    for name, data in sboms.items():
        if name not in images:
            said = f"an SBOM is given for {name!r}, which is none of the images"
            raise ImageError(said, where="--sbom", remedy=f"name one of: {', '.join(sorted(images))}")
        path = f"{release.commit}/{name}.spdx.json"
        images[name] = replace(images[name], sbom=Sbom(path, sha256_bytes(data)))
        files[path] = data
    whole = replace(release, images=images)
    _compare(place, address, whole)
    for path, data in files.items():
        _add(place, address, path, data)
    write_release(address, whole)
    return whole


def write_release(address: str, release: Release) -> None:
    """Write the manifest to a folder or gs://…; a release of the same images is left as it is. Raises ImageError."""
    place = place_of(address)
    if not place.add(f"{release.commit}.json", release.text):
        _compare(place, address, release)


def read_release(address: str, commit: str) -> Release:
    """The release of a commit, which may be shortened while it is the only one. Raises ImageError."""
    place = place_of(address)
    whole = _completed(place, address, commit)
    where = f"{address.rstrip('/')}/{whole}.json"
    data = place.read(f"{whole}.json")
    if data is None:
        raise ImageError(
            "there is no release of this commit", where=where, remedy="name a commit that was built and released"
        )
    release = _parsed(data, where)
    if release.commit != whole:
        raise ImageError(
            f"it is the release of commit {release.commit}", where=where, remedy="put it under its own name"
        )
    return release


def _completed(place: Place, address: str, commit: str) -> str:
    beginning = commit.lower()
    if COMMIT.fullmatch(beginning):
        return beginning
    if not re.fullmatch(rf"[0-9a-f]{{{SHORTEST},63}}", beginning):
        said = f"{commit!r} is no commit"
        raise ImageError(said, where="--from-release", remedy=f"give at least {SHORTEST} of its hex digits")
    names = [name.removesuffix(".json") for name in place.names(beginning) if name.endswith(".json")]
    found = [name for name in names if COMMIT.fullmatch(name)]
    if not found:
        said = f"no release of a commit that begins with {beginning} is there"
        raise ImageError(said, where=address, remedy="name a commit that was built and released")
    if len(found) > 1:
        said = f"{beginning} is the beginning of {len(found)} commits with releases ({', '.join(found[:3])})"
        raise ImageError(said, where=address, remedy="give more digits")
    return found[0]


def _compare(place: Place, address: str, release: Release) -> None:
    """That a release of the same commit, if there is one, is of the same images; the build may be another."""
    where = f"{address.rstrip('/')}/{release.commit}.json"
    data = place.read(f"{release.commit}.json")
    if data is None:
        return
    kept = _parsed(data, where)
    for name in sorted({*kept.images, *release.images}):
        before, after = kept.images.get(name), release.images.get(name)
        if before == after:
            continue
        if before is None or after is None:
            said = f"the same commit was released {'without' if before is None else 'with'} {name}"
        elif before.digest != after.digest:
            said = f"the same commit gave {name} {before.digest} first and {after.digest} now: it is not reproducible"
        elif before.reference != after.reference:
            said = f"the same commit was released with {before.reference}, not {after.reference}"
        else:
            said = f"the SBOM of {name} is another than at the first release of this commit"
        raise ImageError(
            said, where=where, remedy="find what changed (builder image, bases, lock file), and commit anew"
        )
    if kept.source != release.source:
        raise ImageError(
            f"this commit was released from {kept.source}", where=where, remedy="use a place for each source"
        )


def _add(place: Place, address: str, name: str, data: bytes) -> None:
    """An SBOM; one of an earlier try is fine when it is the same."""
    if not place.add(name, data) and place.read(name) != data:
        said = "another SBOM is kept here: the same commit gave other contents"
        raise ImageError(said, where=f"{address.rstrip('/')}/{name}", remedy="find what changed, and commit anew")


def _reference(name: str, text: str, where: str) -> Reference:
    reference = parse_pinned(text, where)
    if reference.name != name:
        raise ImageError(f"it is the image {reference.name!r}", where=where, remedy=f"write {reference.name}={text}")
    return reference.with_digest(str(reference.digest))


def _parsed(data: bytes, where: str) -> Release:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        raise ImageError("this is not JSON", where=where, remedy="restore what the build wrote") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ImageError(
            f"this is no release in the format {FORMAT}", where=where, remedy="restore what the build wrote"
        )
    images = content.get("images")
    texts = [content.get(field) for field in ("commit", "source", "build_id")]
    if not all(isinstance(text, str) for text in texts) or not isinstance(images, dict) or not images:
        said = "a release has commit, source and build_id as text, and images by name"
        raise ImageError(said, where=where, remedy="restore what the build wrote")
    commit, source, build_id = map(str, texts)
    found = {name: _image(name, image, f"{where}, images.{name}") for name, image in images.items()}
    return Release(commit, source, build_id, found)


def _image(name: str, content: Any, where: str) -> ReleasedImage:
    if not isinstance(content, dict) or not isinstance(content.get("reference"), str):
        raise ImageError("an image of a release has a reference", where=where, remedy="restore what the build wrote")
    reference = _reference(name, content["reference"], where)
    if content.get("digest") != reference.digest:
        raise ImageError("digest and reference disagree", where=where, remedy="restore what the build wrote")
    sbom = content.get("sbom")
    if sbom is None:
        return ReleasedImage(reference)
    if not isinstance(sbom, dict) or not all(isinstance(sbom.get(field), str) for field in ("path", "sha256")):
        raise ImageError("an SBOM has a path and a sha256", where=where, remedy="restore what the build wrote")
    return ReleasedImage(reference, Sbom(sbom["path"], sbom["sha256"]))
