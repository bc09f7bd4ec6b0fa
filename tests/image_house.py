"""A place where images are built, run and pinned by the commands as users type them."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from overnight.builds.workspace import copy_source, find_checkout
from support import overnight

ROOT = Path(__file__).parents[1]
SOURCE = "https://github.com/acme/vision-overnight"
IMAGES = ("trainer-cpu", "trainer-gpu", "steps")
CONFIG = """\
environment: images
root: data
validation: {near_duplicate_distance: 0, max_near_duplicates: 1.0}
"""
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass
class House:
    """A folder with an environment file, the registry that its images go to, and how long each part took."""

    folder: Path
    checkout: Path
    """This checkout's files, committed, whatever was edited: only of a commit are builds attested."""
    registry: str
    environment: dict[str, str]
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """What the environment file calls root."""
        return self.folder / "data"

    def run(self, *arguments: str, expect: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        """The command `overnight`, in the folder."""
        return overnight(*arguments, cwd=self.folder, environment=self.environment, expect=expect)

    def json(self, *arguments: str, expect: tuple[int, ...] = (0,)) -> Any:
        """What the command prints for machines."""
        return json.loads(self.run(*arguments, expect=expect).stdout)

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Remember how long the block took."""
        began = time.monotonic()
        yield
        self.seconds[what] = time.monotonic() - began

    def build(self, store: str, *names: str) -> dict[str, str]:
        """Build images with an image store of that name; name to HOST/PATH/NAME@sha256:…"""
        built = self.json(
            *(
                "image",
                "build",
                *names,
                "--local",
                "--quiet",
                "--json",
                "--file",
                str(self.checkout / "cloudbuild/images.yaml"),
            ),
            *("--registry", self.registry, "--store", str(self.folder / store), "--substitution", f"_SOURCE={SOURCE}"),
        )
        assert built["status"] == "SUCCESS"
        return {reference.partition("@")[0].rpartition("/")[2]: reference for reference in built["images"]}

    def blob(self, digest: str) -> Path:
        """A blob's file in the registry's storage."""
        hexadecimal = digest.removeprefix("sha256:")
        found = self.root / "registry/blobs/docker/registry/v2/blobs/sha256" / hexadecimal[:2] / hexadecimal / "data"
        assert found.is_file()
        return found


def committed_copy(folder: Path) -> Path:
    """A repository of its own in the new folder `folder`, with this checkout's files as one commit."""
    copy_source(find_checkout(ROOT), folder)
    for arguments in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "--all"),
        ("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message", "As it stands"),
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


def digest_of(reference: str) -> str:
    """The digest in a reference."""
    found = DIGEST.search(reference)
    assert found
    return found[0]


def command_environment(folder: Path) -> dict[str, str]:
    """As a user's shell has it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG", "VIRTUAL_ENV") if name in os.environ}
    pip = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))}
    proxies = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    venv = Path(sys.prefix) / "bin"
    return {
        **kept,
        **pip,
        **proxies,
        "PATH": f"{venv}:{kept.get('PATH', '')}",
        "OVERNIGHT_CONFIG": str(folder / "environment.yaml"),
        "COLUMNS": "200",
    }
