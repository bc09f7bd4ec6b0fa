"""Container images: there, in Artifact Registry, pinned by digest; prebuilt ones still alive."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files

from overnight.jobs.context import PREBUILT_REGISTRIES, Context
from overnight.jobs.findings import Check, Finding, error, warning
from overnight.jobs.view import JobView, PoolView

IMAGE_MISSING = error("image-missing", "A container has an image.", "1.1; API v1 protobuf (ContainerSpec)")
IMAGE_FORM = error("image-form", "An image reference is HOST/PATH[:TAG][@sha256:DIGEST].", "docs/formats.md")
IMAGE_GCR = error(
    "image-gcr",
    "Images stand in Artifact Registry: Container Registry (gcr.io) is shut down.",
    "5; study guides; docs/formats.md",
)
IMAGE_UNPINNED = error(
    "image-unpinned", "An image is pinned by its digest: a tag may be another image tomorrow.", "5; docs/formats.md"
)
IMAGE_REGISTRY = warning(
    "image-registry",
    "The image comes from the environment's repository, or is one of Google's.",
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

_REFERENCE = re.compile(
    r"(?P<host>[a-z0-9.-]+(:[0-9]+)?/)?(?P<path>[a-z0-9._/-]+?)(:(?P<tag>[\w][\w.-]{0,127}))?(@sha256:(?P<digest>[0-9a-f]{64}))?"
)
_PREBUILT = re.compile(r"(us|europe|asia)-docker\.pkg\.dev/vertex-ai/training/(?P<name>[a-z0-9.-]+?)(:(?P<tag>.+))?")
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
        match = _REFERENCE.fullmatch(pool.image)
        if not pool.image:
            said = "a container on Vertex AI is started from an image"
            yield IMAGE_MISSING.at(where, said, f"write {context.registry or 'HOST/PROJECT/REPOSITORY'}/NAME@sha256:…")
        elif match is None:
            yield IMAGE_FORM.at(where, f"{pool.image!r} is not an image reference", "write HOST/PATH/NAME@sha256:…")
        elif _is_gcr(pool.image):
            yield _gcr(pool)
        else:
            yield from _chosen(pool, bool(match["digest"]), context)


def _chosen(pool: PoolView, pinned: bool, context: Context) -> Iterator[Finding]:
    where = pool.at("containerSpec", "imageUri")
    if prebuilt := _PREBUILT.fullmatch(pool.image.partition("@")[0]):
        yield from _ends(pool, prebuilt["name"], context)
    if not pinned:
        yield IMAGE_UNPINNED.at(
            where,
            "without a digest nobody can say later what was trained with: a tag may be moved at any time",
            "add @sha256:… as the build printed it",
        )
    google = any(f"-docker.pkg.dev/{project}/" in pool.image for project in PREBUILT_REGISTRIES)
    if context.registry and not google and not pool.image.startswith(f"{context.registry}/"):
        said = "the image does not come from the environment's repository: it is neither scanned nor built there"
        yield IMAGE_REGISTRY.at(where, said, f"copy it to {context.registry}")


def _is_gcr(reference: str) -> bool:
    return bool(re.match(r"([a-z]+\.)?gcr\.io/", reference))


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
        match = _PREBUILT.fullmatch(pool.image)
        if not pool.image:
            said = "a Python package does without a Dockerfile, not without a container: it is installed into one"
            yield PACKAGE_IMAGE.at(
                where, said, "name a prebuilt image, or better build your own: all of these are past their end"
            )
        elif _is_gcr(pool.image):
            yield _gcr(pool)
        elif match is None or match["name"] not in prebuilt_images():
            said = "this is none of the prebuilt training images, and a package runs in no other"
            yield PREBUILT_UNKNOWN.at(where, said, "use containerSpec with your own image")
        else:
            if match["tag"] != "latest":
                yield PREBUILT_TAG.at(where, "prebuilt images are used with :latest only", "write :latest")
            yield from _ends(pool, match["name"], context)


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
