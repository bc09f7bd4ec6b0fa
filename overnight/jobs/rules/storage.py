"""Where a job writes: a regional bucket, as gs://."""

import re
from collections.abc import Iterator

from overnight.jobs.context import Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView

OUTPUT_URI = error(
    "output-uri", "baseOutputDirectory is gs://BUCKET/PREFIX.", "0 rule 12, 7 (f); API v1 protobuf (GcsDestination)"
)
OUTPUT_MOUNT = error(
    "output-mount",
    "baseOutputDirectory is written as gs://; /gcs/ is how the code inside sees buckets.",
    "0 rule 12, 3; training/cloud-storage-file-system",
)
OUTPUT_BUCKET = warning(
    "output-bucket",
    "The output bucket is regional and stands with the job: best one of the environment's.",
    "0 rule 12; training/cloud-storage-file-system",
)
OUTPUT_MISSING = warning(
    "output-missing",
    "A job has baseOutputDirectory: without it AIP_MODEL_DIR is not set.",
    "3; training/code-requirements",
)
SPOT_CHECKPOINTS = warning(
    "spot-checkpoints",
    "A job on Spot has baseOutputDirectory, so that its checkpoints outlive its machines.",
    "0 rule 8, 3; training/use-spot-vms",
)

MOUNT_MISSING = warning(
    "mount-missing",
    "Nothing is read through /gcs/ on H200 and B200 machines: there the mount has been missing.",
    "6.4; GoogleCloudPlatform/gcsfuse#4333",
)
UNMOUNTED = ("NVIDIA_H200_141GB", "NVIDIA_B200")

_URI = re.compile(r"gs://([a-z0-9][a-z0-9_.-]{1,220}[a-z0-9])(/.*)?")


def output(job: JobView, context: Context) -> Iterator[Finding]:
    """The output prefix."""
    where = job.at("baseOutputDirectory", "outputUriPrefix")
    uri = job.output
    if uri is None:
        yield from _no_output(job)
    elif uri.startswith("/gcs/"):
        said = "/gcs/ is the mount inside the container; the API takes the bucket itself"
        yield OUTPUT_MOUNT.at(where, said, f"write gs://{uri.removeprefix('/gcs/')}")
    elif not (match := _URI.fullmatch(uri)):
        said = f"{uri!r} is no place in Cloud Storage: machines of a job keep nothing"
        yield OUTPUT_URI.at(where, said, "write gs://BUCKET/PREFIX")
    elif context.buckets and match[1] not in context.buckets:
        said = f"{match[1]} is none of the environment's buckets; a dual- or multi-region bucket is not supported"
        yield OUTPUT_BUCKET.at(
            where, said, f"use one such as gs://{context.buckets[2]}/…, or make sure that it is regional"
        )


def _no_output(job: JobView) -> Iterator[Finding]:
    where = job.at("baseOutputDirectory")
    if job.strategy == "SPOT":
        said = "a Spot machine goes at any moment, and without baseOutputDirectory there is no place for checkpoints"
        yield SPOT_CHECKPOINTS.at(where, said, "write baseOutputDirectory: {outputUriPrefix: gs://…}, and save often")
    else:
        said = "without baseOutputDirectory there is no AIP_MODEL_DIR, and the disk goes with the job"
        yield OUTPUT_MISSING.at(where, said, "write baseOutputDirectory: {outputUriPrefix: gs://…}")


def mount(job: JobView, context: Context) -> Iterator[Finding]:
    """Buckets as folders."""
    for pool in job.pools:
        if pool.accelerator not in UNMOUNTED:
            continue
        for field in ("command", "args"):
            for position, word in enumerate(pool.task.get(field, [])):
                if "/gcs/" in word:
                    said = f"on machines with {pool.accelerator} /gcs has been reported missing"
                    where = pool.at(pool.task_name or "", field, position)
                    yield MOUNT_MISSING.at(where, said, "look for the mount at start, and have another way to read")


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (output, mount)
