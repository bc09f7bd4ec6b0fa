"""Where Cloud Storage stands on this machine: trainer code reads and writes paths only."""

import os
from collections.abc import Mapping
from pathlib import Path

MOUNT = Path("/gcs")
"""Vertex AI mounts every bucket that the job's account may read here (training/cloud-storage-file-system)."""
ROOT_VARIABLE = "OVERNIGHT_GCS_ROOT"
"""A folder that holds buckets as folders, in place of the mount. A local Vertex AI sets it."""


def mount(environment: Mapping[str, str] | None = None) -> Path:
    """The folder that holds buckets as folders: `/gcs`, or what OVERNIGHT_GCS_ROOT says."""
    environment = os.environ if environment is None else environment
    return Path(environment.get(ROOT_VARIABLE) or MOUNT)


def local_path(text: str, environment: Mapping[str, str] | None = None) -> Path:
    """`gs://bucket/x` and `/gcs/bucket/x` as a path on this machine; other paths as they are."""
    for prefix in ("gs://", f"{MOUNT}/"):
        if text.startswith(prefix):
            return mount(environment) / text.removeprefix(prefix)
    return Path(text)
