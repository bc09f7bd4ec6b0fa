"""Container images: there, in Artifact Registry, pinned by digest; prebuilt ones still alive."""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files

from overnight.images.errors import ImageError
from overnight.images.reference import Reference, parse
from overnight.images.reference_parts import GONE
from overnight.jobs.context import PREBUILT_REGISTRIES, Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView, PoolView

IMAGE_MISSING = error("image-missing", "A container has an image.", "1.1; API v1 protobuf (ContainerSpec)")
IMAGE_FORM = error(
    "image-form", "An image reference is HOST/PATH[:TAG][@sha256:DIGEST]; no registry is assumed.", "docs/formats.md"
)
IMAGE_GCR = error(
    "image-gcr",
    "Images stand in Artifact Registry: Container Registry (gcr.io) is shut down.",
    "5; study guides; docs/formats.md",
)
IMAGE_UNPINNED = error(
    "image-unpinned", "An image is pinned by its digest: a tag may be another image tomorrow.", "5; docs/formats.md"
)
IMAGE_REGISTRY = error(
    "image-registry",
    "The image comes from the environment's repository, an allowed registry, or is one of Google's training images.",
    "0 rule 19, 4; config",
)
PACKAGE_IMAGE = error(
    "package-image",
    "A Python package runs in a prebuilt container: executorImageUri names it.",
    "0 rule 18, 1.1; study guides; training/pre-built-containers",
)
PACKAGE_FIELDS = error(
    "package-fields",
    "A Python package has packageUris in Cloud Storage (100 at most) and a pythonModule.",
    "1.1; API v1 protobuf (PythonPackageSpec)",
)
PREBUILT_UNKNOWN = error(
    "prebuilt-unknown",
    "executorImageUri is one of the listed prebuilt images.",
    "0 rule 18; training/pre-built-containers",
)
PREBUILT_TAG = error(
    "prebuilt-tag",
    "A prebuilt image is named with :latest: no other tag is supported.",
    "0 rule 18; training/pre-built-containers",
)
PREBUILT_END = warning(
    "prebuilt-end",
    "A prebuilt image is within its availability: after it the service may refuse the job, and nobody patches it.",
    "0 rule 18; machine-learning/framework-support-policy",
)
PREBUILT_SUPPORT = warning(
    "prebuilt-support", "A prebuilt image is still patched.", "0 rule 18; machine-learning/framework-support-policy"
)

PREBUILT = re.compile(r"(us|europe|asia)-docker\.pkg\.dev/vertex-ai/training/([a-z0-9.-]+)")
"""HOST/PATH of the prebuilt images."""
MAX_PACKAGES = 100


@dataclass(frozen=True)
class Prebuilt:
    """How long one of Google's training images lives."""

    end_of_support: date
    end_of_availability: date


@cache
def prebuilt_images() -> dict[str, Prebuilt]:
    """The listed images by name, such as `tf-gpu.2-17.py310`."""
    with (files("overnight.jobs.rules") / "prebuilt_images.csv").open(encoding="utf-8") as file:
        return {
            row["image"]: Prebuilt(
                date.fromisoformat(row["end_of_support"]), date.fromisoformat(row["end_of_availability"])
            )
            for row in csv.DictReader(file)
        }


def image(job: JobView, context: Context) -> Iterator[Finding]:
    """Each container's image."""
    for pool in job.pools:
        if pool.task_name != "containerSpec":
            continue
        where = pool.at("containerSpec", "imageUri")
        if not pool.image:
            said = "a container on Vertex AI is started from an image"
            yield IMAGE_MISSING.at(where, said, f"write {context.registry or 'HOST/PROJECT/REPOSITORY'}/NAME@sha256:…")
        elif _is_gcr(pool.image):
            yield _gcr(pool)
        else:
            try:
                reference = parse(pool.image)
            except ImageError as mistake:
                yield IMAGE_FORM.at(where, mistake.problem, mistake.remedy or "write HOST/PATH/NAME@sha256:…")
            else:
                yield from _chosen(pool, reference, context)


def _chosen(pool: PoolView, reference: Reference, context: Context) -> Iterator[Finding]:
    where = pool.at("containerSpec", "imageUri")
    if prebuilt := PREBUILT.fullmatch(reference.repository):
        yield from _ends(pool, prebuilt[2], context)
    if not reference.pinned and not pool.is_reduction_server:
        yield IMAGE_UNPINNED.at(
            where,
            "without a digest nobody can say later what was trained with: a tag may be moved at any time",
            "write the digest with `overnight image pin`",
        )
    if context.registry and not _may_come_from(reference, (context.registry, *context.allowed_registries)):
        said = "the image comes from a registry that is neither the environment's nor allowed: it is not built there"
        remedy = f"build or copy it to {context.registry}, or allow it in google.artifact_registry.allowed_registries"
        yield IMAGE_REGISTRY.at(where, said, remedy)


def _may_come_from(reference: Reference, registries: Iterable[str]) -> bool:
    google = reference.google
    if google is not None and google.project in PREBUILT_REGISTRIES:
        return True
    return any(f"{reference.repository}/".startswith(f"{registry}/") for registry in registries)


def _is_gcr(text: str) -> bool:
    return GONE.fullmatch(text.partition("/")[0]) is not None


def _gcr(pool: PoolView) -> Finding:
    said = "Container Registry is shut down: gcr.io takes no images any more"
    where = pool.at(pool.task_name or "", pool.image_field)
    return IMAGE_GCR.at(where, said, "push to Artifact Registry: REGION-docker.pkg.dev/PROJECT/REPOSITORY/NAME")


def package(job: JobView, context: Context) -> Iterator[Finding]:
    """Each Python package, and the prebuilt container that it runs in."""
    for pool in job.pools:
        if pool.task_name != "pythonPackageSpec":
            continue
        yield from _package_fields(pool)
        where = pool.at("pythonPackageSpec", "executorImageUri")
        name, _, tag = pool.image.partition(":")
        match = PREBUILT.fullmatch(name)
        if not pool.image:
            said = "a Python package does without a Dockerfile, not without a container: it is installed into one"
            yield PACKAGE_IMAGE.at(
                where, said, "name a prebuilt image, or better build your own: all of these are past their end"
            )
        elif _is_gcr(pool.image):
            yield _gcr(pool)
        elif match is None or match[2] not in prebuilt_images():
            said = "this is none of the prebuilt training images, and a package runs in no other"
            yield PREBUILT_UNKNOWN.at(where, said, "use containerSpec with your own image")
        else:
            if tag != "latest":
                yield PREBUILT_TAG.at(where, "prebuilt images are used with :latest only", "write :latest")
            yield from _ends(pool, match[2], context)


def _package_fields(pool: PoolView) -> Iterator[Finding]:
    uris = pool.task.get("packageUris", [])
    where = pool.at("pythonPackageSpec", "packageUris")
    if not uris or len(uris) > MAX_PACKAGES:
        yield PACKAGE_FIELDS.at(
            where, f"there are {len(uris)} packages, and 1 to {MAX_PACKAGES} fit", "name the package"
        )
    for position, uri in enumerate(uris):
        if not uri.startswith("gs://"):
            said = f"{uri!r} is no place in Cloud Storage"
            yield PACKAGE_FIELDS.at((*where, position), said, "upload the package and write gs://…")
    if not pool.task.get("pythonModule"):
        where = pool.at("pythonPackageSpec", "pythonModule")
        yield PACKAGE_FIELDS.at(where, "the module to run is missing", "write one such as trainer.task")


def _ends(pool: PoolView, name: str, context: Context) -> Iterator[Finding]:
    where = pool.at(pool.task_name or "", pool.image_field)
    listed = prebuilt_images().get(name)
    remedy = "build your own image from the framework's release, and pin it"
    if listed is None:
        return
    if listed.end_of_availability <= context.today:
        said = f"{name} was available until {listed.end_of_availability}: the service may refuse it on any day"
        yield PREBUILT_END.at(where, said, remedy)
    elif listed.end_of_support <= context.today:
        said = f"{name} is not patched any more since {listed.end_of_support}"
        yield PREBUILT_SUPPORT.at(where, said, remedy)


CHECKS: tuple[Check, ...] = ()
CLOUD_CHECKS: tuple[Check, ...] = (image, package)
