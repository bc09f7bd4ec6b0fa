"""The Cloud Build side of an environment: the repository, who builds, where."""

import re

from pydantic import Field, field_validator

from overnight.config.section import Section

DIGEST_REFERENCE = r"[a-z0-9.-]+\.[a-z]{2,}(:[0-9]+)?(/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}"
GONE_REGISTRY = r"([a-z]+\.)?gcr\.io/"


class RepositoryConfig(Section):
    """The Git repository, linked through a 2nd-generation connection to GitHub."""

    remote_uri: str = Field(
        pattern=r"^https://github\.com/[A-Za-z0-9-]+/[A-Za-z0-9._-]+\.git$",
        description="the HTTPS clone address on GitHub, such as https://github.com/acme/vision.git",
    )
    app_installation_id: str = Field(
        pattern=r"^[0-9]{4,12}$", description="the number of the Cloud Build GitHub app's installation, in quotes"
    )
    oauth_token_secret_version: str = Field(
        pattern=r"^projects/[a-z0-9-]+/secrets/[A-Za-z0-9_-]{1,255}/versions/[1-9][0-9]*$",
        description="a Secret Manager version by number ('latest' may change between plan and apply), such as "
        "projects/acme-vision/secrets/github-token/versions/1",
    )
    main_branch: str = Field(
        default="main", pattern=r"^[A-Za-z0-9._/-]+$", description="a branch name, not a regular expression"
    )


class PrivatePoolConfig(Section):
    """A private worker pool: builds without public addresses, or on larger machines."""

    machine_type: str = Field(
        default="e2-standard-8",
        pattern=r"^(e2|n2|n2d|c3)-(standard|highmem|highcpu)-[0-9]+$",
        description="a Compute Engine machine type, such as e2-standard-8",
    )
    disk_size_gb: int = Field(default=200, ge=100, le=4000, description="a size of 100 to 4000 GB")
    no_external_ip: bool = True
    """Builds then reach nothing but what the peered network and Google's own addresses offer."""
    peered_network: str | None = Field(
        default=None,
        pattern=r"^projects/[0-9]+/global/networks/[a-z]([a-z0-9-]{0,61}[a-z0-9])?$",
        description="a network as projects/PROJECT_NUMBER/global/networks/NAME",
    )


class BaseImagesConfig(Section):
    """What the images of `images/` are built on, by digest. All four hold the same minor version of Python."""

    builder: str = Field(description="the image that compiles: Python with headers, a C++ compiler, libjpeg's headers")
    steps: str = Field(description="the image that pipeline steps run on: Python without pip or compiler")
    trainer_cpu: str = Field(description="the image that training without GPUs runs on: Python with PyTorch")
    trainer_gpu: str = Field(description="the image that training on GPUs runs on: Python with PyTorch for CUDA")

    @field_validator("builder", "steps", "trainer_cpu", "trainer_gpu")
    @classmethod
    def _named_by_digest(cls, image: str) -> str:
        return named_by_digest(image, "base image")


class CloudBuildConfig(Section):
    """Triggers and where their builds run; the steps themselves stand in cloudbuild/*.yaml."""

    repository: RepositoryConfig
    builder_image: str = Field(
        description="an image by digest, such as us-central1-docker.pkg.dev/acme-vision/prod-images/builder@sha256:…"
    )
    """What all steps run in: Python 3.11, Node.js 20, Terraform, conftest, a C++ compiler, the docker command.
    Named by digest, so that the tools that change production change by review."""
    base_images: BaseImagesConfig | None = None
    """What images are built on; without it no images are built, and the triggers that would stay disabled."""
    private_pool: PrivatePoolConfig | None = None
    notifications: bool = True
    """Make the topic `cloud-builds`, to which Cloud Build publishes every build of the project once it exists.

    The name is the service's and there is one a project: of two environments in a project, one says true.
    """

    @field_validator("builder_image")
    @classmethod
    def _named_by_digest(cls, image: str) -> str:
        return named_by_digest(image, "builder image")


def named_by_digest(image: str, what: str) -> str:
    """`image` as it is; ValueError when it is no reference by digest to a registry that still exists."""
    if re.match(GONE_REGISTRY, image):
        raise ValueError("Container Registry (gcr.io) is gone; push the image to Artifact Registry (…-docker.pkg.dev)")
    if "@" not in image:
        raise ValueError(f"a tag can move; name the {what} by digest (…@sha256:<64 hex digits>)")
    if not re.fullmatch(DIGEST_REFERENCE, image):
        raise ValueError(f"{image!r} does not name a digest; write the image as host/path@sha256:<64 hex digits>")
    return image
