"""Pipeline templates: what a `templateUri` of Artifact Registry stands for, from a folder of this machine.

`https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY/NAME/TAG` is the file `<templates>/PROJECT/REPOSITORY/NAME/TAG.yaml`
(or .json); `…/NAME/sha256:HEX` is the file there whose bytes have that digest.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from overnight.vertex_local.api.errors import invalid, not_found

URI = re.compile(
    r"https://[a-z0-9-]+-kfp\.pkg\.dev/(?P<path>[\w.:-]+/[\w.-]+/[\w.-]+)/(?P<version>sha256:[0-9a-f]+|[\w.-]+)"
)
ENDINGS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Template:
    """A compiled pipeline and its version, `sha256:` and the digest of the file."""

    spec: dict[str, Any]
    version: str


def find_template(folder: Path | None, uri: str) -> Template:
    """The template that `uri` names. Raises ApiError INVALID_ARGUMENT, NOT_FOUND."""
    match = URI.fullmatch(uri)
    if match is None or ".." in uri:
        raise invalid(f"template_uri: {uri} is not https://REGION-kfp.pkg.dev/PROJECT/REPOSITORY/NAME/VERSION.")
    home = (folder or Path("/nonexistent")) / match["path"]
    for path in sorted(home.iterdir()) if home.is_dir() else []:
        if path.suffix in ENDINGS and match["version"] in (path.stem, _version(path)):
            return Template(_read(path), _version(path))
    raise not_found(uri)


def _version(path: Path) -> str:
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def _read(path: Path) -> dict[str, Any]:
    try:
        # Behind the pipeline a file may hold a second document, for Kubernetes.
        spec = next(iter(YAML(typ="safe").load_all(path)), None)
    except YAMLError as error:
        raise invalid(f"The template {path.name} is no YAML: {error}") from None
    if not isinstance(spec, dict):
        raise invalid(f"The template {path.name} is no pipeline.")
    return spec
