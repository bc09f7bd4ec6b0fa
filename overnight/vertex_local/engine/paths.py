"""Buckets as folders: `gs://bucket/x`, and `/gcs/bucket/x` inside a container, are `<root>/bucket/x` here."""

import re
from pathlib import Path

ROOT_VARIABLE = "OVERNIGHT_GCS_ROOT"
"""Tells a job where the buckets are."""

_BUCKET = re.compile(r"^(--?[A-Za-z0-9][\w.-]*=)?(?:gs://|/gcs/)(?=[a-z0-9])")


def local_folder(root: Path, uri: str) -> Path:
    """The folder that stands for `gs://bucket/prefix`."""
    return root / uri.removeprefix("gs://").rstrip("/")


def localised(root: Path, text: str) -> str:
    """A whole value or `--option=value` that begins with gs:// or /gcs/, with the local folder in its place."""
    return _BUCKET.sub(lambda match: f"{match[1] or ''}{root}/", text, count=1)
