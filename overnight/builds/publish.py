"""Into the registry: images by podman, their digest by the registry's own word, what made them as an attestation."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from overnight.builds.containers import LABEL, STORE
from overnight.builds.errors import BuildError
from overnight.builds.process import run
from overnight.builds.result import Pushed
from overnight.images.reference import parse

NOT_COMMITTED = "not attested: no commit holds what was built; commit it and build again"

TRIES = 5
"""A container that was just being made when its maker was ended may appear after the first look."""


@dataclass(frozen=True)
class Publisher:
    """Pushes images of the local store."""

    environment: Mapping[str, str]
    """Of podman."""
    folder: Path

    def push(self, image: str, line: Callable[[str], None]) -> str:
        """Push HOST/PATH:TAG; the digest that the registry now has under the tag. Raises BuildError, ImageError."""
        from overnight.images.registry import registry_for

        reference = parse(image, "images")
        if not self._known(image):
            raise BuildError("no step built this image", where=image, remedy="build it with the same tag")
        ended = run(
            ["podman", "push", "--quiet", "--format=oci", image],
            {**os.environ, **self.environment},
            self.folder,
            None,
            line,
        )
        if ended.code:
            raise BuildError(f"podman did not push it (code {ended.code})", where=image)
        tag = reference.tag or "latest"
        return registry_for(reference).manifest(reference.path, tag).digest

    def remove_containers(self, build_id: str) -> None:
        """Remove what `docker run` of a build left, as the end of the service's machine would.

        In a store that only builds use, also what an interrupted `docker build` or `docker run` left half made.
        """
        own = STORE in self.environment
        which = ["--external"] if own else ["--filter", f"label={LABEL}={build_id}"]
        for _ in range(TRIES):
            found = self._tool("podman", "ps", "--all", "--quiet", *which).split()
            if not found:
                return
            if own:
                self._tool("buildah", "rm", "--all")
            self._tool("podman", "rm", "--force", "--time=0", "--volumes", *found)

    def _known(self, image: str) -> bool:
        command = ["podman", "image", "exists", image]
        return subprocess.run(command, env={**os.environ, **self.environment}, check=False).returncode == 0

    def _tool(self, *command: str) -> str:
        done = subprocess.run(
            command,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return done.stdout


@dataclass(frozen=True)
class Attester:
    """Signs what made an image and attaches it."""

    key: Path
    """Of the private key; made with its public half when it is not there."""
    source: str
    commit: str | None
    """None where no commit holds what was built."""
    build_id: str
    config: str
    """The build file, relative to the checkout."""
    substitutions: Mapping[str, str]
    base_images: Mapping[str, tuple[str, ...]]
    """By the image's HOST/PATH:TAG."""

    def attest(self, image: Pushed) -> str | None:
        """Attach the attestation; a sentence instead when there is no commit to name. Raises ImageError."""
        from overnight.images.attach import attest
        from overnight.images.keys import key_pair
        from overnight.images.provenance import LOCAL_BUILDER, Provenance
        from overnight.images.registry import registry_for

        if self.commit is None:
            return NOT_COMMITTED
        reference = parse(image.name, "images").with_digest(image.digest)
        provenance = Provenance(
            subject_digest=image.digest,
            source=self.source,
            commit=self.commit,
            builder=LOCAL_BUILDER,
            build_id=self.build_id,
            config=self.config,
            substitutions=self.substitutions,
            base_images=self.base_images.get(image.name, ()),
        )
        attest(registry_for(reference), reference, provenance, key_pair(self.key))
        return None
