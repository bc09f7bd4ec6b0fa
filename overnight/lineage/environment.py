"""What is installed where a run's processes ran: for runs without an image this stands for its digest."""

import importlib.metadata
import platform
import re
from typing import Any

from overnight.files import canonical_json, sha256_bytes


def python_environment() -> dict[str, Any]:
    """This Python's version, platform and installed distributions, with the digest of all three."""
    packages = {
        re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower(): found.version
        for found in importlib.metadata.distributions()
        if found.metadata["Name"]
    }
    return with_digest(
        {
            "python": platform.python_version(),
            "platform": " ".join((platform.system(), platform.machine(), *platform.libc_ver())).strip(),
            "packages": dict(sorted(packages.items())),
        }
    )


def with_digest(environment: dict[str, Any]) -> dict[str, Any]:
    """The environment with `sha256`, the digest of its other fields as canonical JSON."""
    content = {name: value for name, value in environment.items() if name != "sha256"}
    return {**content, "sha256": sha256_bytes(canonical_json(content))}
