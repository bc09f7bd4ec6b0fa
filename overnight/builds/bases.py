"""The base images of a local build: stand-ins made from Debian's packages, by digest, in the local registry."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from overnight.builds.errors import BuildError
from overnight.builds.process import run
from overnight.errors import OvernightError
from overnight.images.reference import Reference, parse_pinned

KEYS = ("_BASE_BUILDER", "_BASE_STEPS", "_BASE_TRAINER_CPU", "_BASE_TRAINER_GPU")
"""What triggers pass, and what the file of bases holds."""
BOOTSTRAP = Path("images/bases/bootstrap")
"""Called with the registry and the file to write; relative to the checkout."""

Exists = Callable[[Reference], bool]
"""Whether the registry has an image."""


def read_bases(path: Path) -> dict[str, str]:
    """The references in a file of bases. Raises BuildError, or ImageError for what is no pinned reference."""
    remedy = f"give a JSON object with {', '.join(KEYS)}"
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise BuildError("there is no such file of bases", where=str(path), remedy=remedy) from None
    except IsADirectoryError:
        raise BuildError("this is a folder", where=str(path), remedy=remedy) from None
    except (ValueError, RecursionError):
        raise BuildError("this is not JSON", where=str(path), remedy=remedy) from None
    if not isinstance(content, dict) or not content or not set(content) <= set(KEYS):
        raise BuildError("this is no file of bases", where=str(path), remedy=remedy)
    return {key: str(parse_pinned(value, f"{path}, {key}")) for key, value in content.items()}


def usable(path: Path, host: str, exists: Exists) -> dict[str, str] | None:
    """The bases in `path` if they all stand in the registry at `host`; None when they must be made."""
    try:
        bases = read_bases(path)
        references = [parse_pinned(text) for text in bases.values()]
        if set(bases) == set(KEYS) and all(base.host == host and exists(base) for base in references):
            return bases
    except OvernightError:
        return None
    return None


def bootstrap(
    checkout: Path, path: Path, host: str, environment: Mapping[str, str], line: Callable[[str], None]
) -> dict[str, str]:
    """Make the stand-ins and push them (minutes); they are written to `path`. Raises BuildError when that fails."""
    program = checkout / BOOTSTRAP
    if not program.is_file():
        raise BuildError(
            f"{BOOTSTRAP} is not in this checkout, and base images are needed",
            where=str(checkout),
            remedy="name base images with --bases FILE",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    last: list[str] = []

    def keep(text: str) -> None:
        last[:] = [text]
        line(text)

    variables = {**os.environ, **environment}
    ended = run([str(program), host, str(path.absolute())], variables, checkout, None, keep)
    if ended.code:
        reason = last[0].rstrip(".") if last else f"code {ended.code}"
        raise BuildError(f"the base images could not be made ({reason})", where=str(BOOTSTRAP))
    return read_bases(path)
