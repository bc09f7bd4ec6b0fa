"""What is known, offline, of the place a job is meant for; None or empty is unknown, and is not checked."""

from dataclasses import dataclass
from datetime import date
from typing import get_args

from overnight.config import Environment
from overnight.config.names import Names, Purpose
from overnight.config.training import PersistentResource

PREBUILT_REGISTRIES = ("vertex-ai", "vertex-ai-restricted")
"""Google's own image projects, readable by every job."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """The surroundings of a job, as the environment file describes them."""

    today: date
    region: str | None = None
    allowed_regions: tuple[str, ...] = ()
    project_id: str | None = None
    project_number: str | None = None
    registry: str | None = None
    """Where the environment's images stand: HOST/PROJECT/REPOSITORY."""
    allowed_registries: tuple[str, ...] = ()
    """Where images may come from beside it: HOST/PATH, and all below."""
    buckets: tuple[str, ...] = ()
    """Names of the environment's buckets; all of them stand in `region`."""
    persistent_resources: tuple[PersistentResource, ...] | None = None
    """Those that are switched on; None when nothing is known."""
    kms_key: str | None = None
    """The key that training must use, when the environment has customer-managed keys."""


def context_of(environment: Environment | None, today: date) -> Context:
    """What an environment file says; of an environment without a project nothing is known but the day."""
    google = environment.google if environment else None
    if environment is None or google is None:
        return Context(today=today)
    names = Names(environment=environment.environment, google=google)
    return Context(
        today=today,
        region=google.region,
        allowed_regions=tuple(google.allowed_regions) or (google.region,),
        project_id=google.project_id,
        project_number=google.project_number,
        registry=names.repository_path("images"),
        allowed_registries=tuple(google.artifact_registry.allowed_registries),
        buckets=tuple(names.bucket(purpose) for purpose in get_args(Purpose)),
        persistent_resources=tuple(item for item in google.persistent_resources if item.enabled),
        kms_key=names.key("training") if google.cmek.enabled else None,
    )
