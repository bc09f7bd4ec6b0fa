"""What the build runs in the finished image of pipeline steps, and anybody in a container that misbehaves.

    python -m overnight.selfcheck [--allow-root]

It needs no network, no credentials, no data and no folder but a temporary one. One line a check; the first that fails
ends it with one sentence and exit code 2.
"""

import argparse
import importlib
import logging
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from overnight.errors import OvernightError

CONTENTS = Path(__file__).parents[1] / "image.json"
"""In our images /opt/app/image.json; anywhere else there is no such file."""

LIBRARIES = {
    "duckdb": "connect",
    "pyarrow.parquet": "write_table",
    "apache_beam": "Pipeline",
    "simplejpeg": "decode_jpeg",
    "google.cloud.aiplatform_v1": "JobServiceClient",
    "google.cloud.storage": "Client",
    "google.cloud.bigquery": "Client",
    "google.cloud.artifactregistry_v1": "ArtifactRegistryClient",
    "google.cloud.devtools.cloudbuild_v1": "CloudBuildClient",
    "gcsfs": "GCSFileSystem",
}
"""What steps use, and a name in each: an empty namespace package can be imported, too."""

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
CLASSES = ("ant", "bee")
IMAGES_PER_CLASS = 60
SPEC = f"""\
customJob:
  displayName: selfcheck
  jobSpec:
    workerPoolSpecs:
      - replicaCount: 1
        machineSpec: {{machineType: n1-standard-8, acceleratorType: NVIDIA_TESLA_T4, acceleratorCount: 1}}
        containerSpec:
          imageUri: us-central1-docker.pkg.dev/project/images/trainer-gpu@sha256:{"0a" * 32}
          command: [python, -m, trainer.launch]
    serviceAccount: training@project.iam.gserviceaccount.com
    baseOutputDirectory: {{outputUriPrefix: gs://bucket/jobs}}
overnight:
  model: classifier
  region: us-central1
"""

Check = Callable[[], str]
"""Returns what was found, in a few words; raises OvernightError."""


class SelfCheckFailed(OvernightError):
    """Something that every step needs does not work here."""


def main(arguments: Sequence[str]) -> int:
    """Run every check in turn; 0 when all pass, 2 with one sentence on standard error when one does not."""
    parser = argparse.ArgumentParser(prog="python -m overnight.selfcheck", description="Check that steps work here.")
    parser.add_argument("--allow-root", action="store_true", help="pass although this is root")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)  # Beam has its opinion on what else could be installed
    try:
        _run(options.allow_root)
    except OvernightError as error:
        print(f"overnight: {error.sentence}", file=sys.stderr)
        return SelfCheckFailed.exit_code
    return 0


def _run(allow_root: bool) -> None:
    begun = time.monotonic()
    with _temporary_folder() as name:
        checks: dict[str, Check] = {
            "image": _image,
            "user": partial(_user, os.geteuid(), allow_root),
            "libraries": _libraries,
            "policies": _policies,
            "job check": partial(_job_check, Path(name) / "job.yaml"),
            "snapshot": partial(_snapshot, Path(name)),
        }
        for title, check in checks.items():
            print(f"{title}: {_passed(title, check)}", flush=True)
    print(f"{len(checks)} checks passed in {time.monotonic() - begun:.1f} s", flush=True)


def _passed(title: str, check: Check) -> str:
    """What the check found; a library that is missing or broken is a sentence too."""
    try:
        return check()
    except (ImportError, AttributeError, OSError, RuntimeError) as error:
        said = " ".join(str(error).split()) or type(error).__name__
        raise SelfCheckFailed(said, where=title, remedy="build the image again from its lock") from None


def _temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix="selfcheck-")
    except OSError as error:
        raise SelfCheckFailed(
            f"no temporary folder can be written ({error.strerror})",
            where="files",
            remedy="mount one: --tmpfs /tmp, or set TMPDIR",
        ) from None


def _image() -> str:
    from overnight.files import read_json

    if not CONTENTS.exists():
        return f"none of ours, there is no {CONTENTS}"
    contents = read_json(CONTENTS, "overnight.image/1")
    return f"{contents.get('name')} of commit {contents.get('revision')}"


def _user(uid: int, allow_root: bool) -> str:
    if uid == 0 and not allow_root:
        raise SelfCheckFailed(
            "this runs as root", where="user", remedy="run the image as its own user, or allow it by --allow-root"
        )
    return "root, as allowed" if uid == 0 else f"{uid}, not root"


def _libraries() -> str:
    for module, name in LIBRARIES.items():
        getattr(importlib.import_module(module), name)
    return f"{len(LIBRARIES)} import"


def _policies() -> str:
    from overnight.policies.policies import Policies, root

    return f"{len(Policies.load([root()]).tests)} tests stand beside the rules, all parse"


def _job_check(path: Path) -> str:
    """The command's own work on a spec without fault."""
    from overnight.jobs.check import check_file
    from overnight.jobs.context import Context

    path.write_text(SPEC, encoding="utf-8")
    report = check_file(path, Context(today=NOW.date()))
    if report.findings:
        first = report.findings[0]
        raise SelfCheckFailed(
            f"a sound spec breaks {first.rule}: {first.message}",
            where="job check",
            remedy="see that the image holds the commit that it names",
        )
    return f"a job for {report.region}, {len(report.quotas)} quotas named"


def _snapshot(folder: Path) -> str:
    """Generated pictures through import, shards and snapshot, as every week."""
    from overnight.catalog.found import find
    from overnight.catalog.importing import merge_images
    from overnight.config import Environment
    from overnight.labels.create import create_snapshot, holding_snapshots
    from overnight.labels.duckdb_source import DuckDBLabelSource
    from overnight.labels.validation import Inputs
    from overnight.shards import build, pipeline
    from overnight.shards.manifest import Settings

    _write_pictures(folder / "pictures")
    place = Environment.model_validate(
        {
            "environment": "selfcheck",
            "root": str(folder / "root"),
            "validation": {"min_rows": 10, "min_split_rows_per_class": 1},
            # The image of pipeline steps holds no trainer package, which writes them.
            "shards": {"restart_markers": False},
        }
    )
    source = DuckDBLabelSource(place.database_path, place.labels.table)
    merge_images(find(str(folder / "pictures"), None), place.catalog_path, source, source.create_or_merge, lambda: None)
    order = build.Order(place.catalog_path, str(place.shards_path), Settings(**place.shards.model_dump()))
    shards = build.build(order, partial(pipeline.run_here, workers=1))
    with holding_snapshots(place.snapshots_path):
        inputs = Inputs(source=source, shard_set=shards, previous=None, now=NOW)
        made = create_snapshot(inputs, place, lambda step: None)
    arrived, made_up = made.snapshot.rows, len(CLASSES) * IMAGES_PER_CLASS
    if arrived != made_up:
        raise SelfCheckFailed(
            f"{arrived} of {made_up} generated pictures arrived",
            where="snapshot",
            remedy="see that the image holds the commit that it names",
        )
    return f"{made.snapshot.name} of {arrived} generated pictures"


def _write_pictures(folder: Path) -> None:
    """Coarse noise, different in each picture, and the same in every run."""
    from PIL import Image

    for label in CLASSES:
        (folder / label).mkdir(parents=True)
        for number in range(IMAGES_PER_CLASS):
            noise = random.Random(f"{label} {number}").randbytes(9 * 9 * 3)
            picture = Image.frombytes("RGB", (9, 9), noise).resize((48, 48), Image.Resampling.BICUBIC)
            picture.save(folder / label / f"{number:03d}.jpg", quality=90)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
