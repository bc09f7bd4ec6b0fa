"""What a build is given: the substitutions of this repository's triggers, and the service's own."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overnight.config.delivery import BaseImagesConfig
    from overnight.config.environment import Environment

_DIGEST = f"sha256:{'0' * 64}"
_HOST = "us-central1-docker.pkg.dev/acme-vision"

TRIGGERS: Mapping[str, str] = {
    "_ENVIRONMENT": "prod",
    "_CONFIG": "config/prod.yaml",
    "_REGION": "us-central1",
    "_BUILDER_IMAGE": f"{_HOST}/prod-images/builder@{_DIGEST}",
    "_BASE_BUILDER": f"{_HOST}/prod-images/base-builder@{_DIGEST}",
    "_BASE_STEPS": f"{_HOST}/prod-images/base-steps@{_DIGEST}",
    "_BASE_TRAINER_CPU": f"{_HOST}/prod-images/base-trainer-cpu@{_DIGEST}",
    "_BASE_TRAINER_GPU": f"{_HOST}/prod-images/base-trainer-gpu@{_DIGEST}",
    "_POOL": "",
    "_REPOSITORY": f"{_HOST}/prod-images",
    "_CACHE_REPOSITORY": f"{_HOST}/prod-cache",
    "_PIPELINES_REPOSITORY": "https://us-central1-kfp.pkg.dev/acme-vision/prod-pipelines",
    "_LOGS_BUCKET": "acme-vision-prod-logs",
    "_RELEASES": "gs://acme-vision-prod-models/releases",
    "_SOURCE": "https://github.com/acme/vision",
}
"""What the triggers of infra/ pass, with the values of a made-up environment."""

BUILT_IN_VALUES: Mapping[str, str] = {
    "PROJECT_ID": "acme-vision",
    "PROJECT_NUMBER": "481516234207",
    "BUILD_ID": "00000000-0000-0000-0000-000000000000",
    "LOCATION": "us-central1",
    "COMMIT_SHA": "0" * 40,
    "REVISION_ID": "0" * 40,
    "SHORT_SHA": "0" * 7,
    "REPO_NAME": "vision",
    "REPO_FULL_NAME": "acme/vision",
    "BRANCH_NAME": "main",
    "REF_NAME": "main",
    "TAG_NAME": "",
}
"""Stand-ins for what is known only once a build runs."""


def of_environment(environment: "Environment") -> dict[str, str]:
    """What this environment's triggers pass, as far as its file says so; the pool's name is known to Terraform only."""
    from overnight.config.names import Names

    google = environment.google
    if google is None:
        return dict(TRIGGERS)
    names = Names(environment=environment.environment, google=google)
    build = google.cloud_build
    return {
        **TRIGGERS,
        "_ENVIRONMENT": environment.environment,
        "_CONFIG": f"config/{environment.environment}.yaml",
        "_REGION": google.region,
        "_BUILDER_IMAGE": build.builder_image,
        "_REPOSITORY": names.repository_path("images"),
        "_CACHE_REPOSITORY": names.repository_path("cache"),
        "_PIPELINES_REPOSITORY": f"https://{names.repository_path('pipelines')}",
        "_LOGS_BUCKET": names.bucket("logs"),
        "_RELEASES": f"gs://{names.bucket('models')}/releases",
        "_SOURCE": build.repository.remote_uri.removesuffix(".git"),
        **_bases(build.base_images),
    }


def _bases(bases: "BaseImagesConfig | None") -> dict[str, str]:
    """Without them the trigger for images is made disabled, and its file is judged with the stand-ins."""
    if bases is None:
        return {}
    return {f"_BASE_{name.upper()}": image for name, image in bases.model_dump().items()}
