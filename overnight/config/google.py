"""The Google Cloud side of an environment: project, places, names, keys, and what the stacks provision in them."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from overnight.config.delivery import GONE_REGISTRY, CloudBuildConfig
from overnight.config.section import Section, distinct
from overnight.config.training import BudgetConfig, MonitoringConfig, PersistentResource, SchedulesConfig


def _not_googles(name: str) -> str:
    """Cloud Storage's rule for bucket names."""
    if name.startswith("goog") or "google" in name:
        raise ValueError(f"the bucket name {name!r} begins with 'goog' or contains 'google'; choose another")
    return name


REGION = r"^[a-z]+-[a-z]+[0-9]+$"
Region = Annotated[
    str, Field(pattern=REGION, description="one region, such as europe-west4; multi-regions such as EU do not train")
]
BucketName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]$",
        description="a bucket name: 3 to 63 lower-case letters, digits, '-' and '_', no dots",
    ),
    AfterValidator(_not_googles),
]
Days = Annotated[int, Field(ge=1, le=3650, description="whole days, 1 to 3650")]
LabelValue = Annotated[str, Field(description="text of at most 63 lower-case letters, digits, '-' and '_'")]
Principal = Annotated[
    str,
    Field(
        pattern=r"^(group|user|serviceAccount|domain|principal|principalSet):[^\s]+$",
        description="a named IAM principal (never allUsers), such as group:analysts@example.com",
    ),
]

RESERVED_LABELS = ("environment", "managed_by", "stack")
"""Set by the stacks themselves."""
MAX_LABELS = 64
"""On one resource (Resource Manager's bound), those of the stacks included."""


class StateConfig(Section):
    """Where Terraform keeps its state."""

    bucket: BucketName
    """Made before anything else, by `python -m infra.bootstrap`."""
    prefix: str = Field(
        default="overnight",
        pattern=r"^[a-z0-9_-]+(/[a-z0-9_-]+)*$",
        max_length=60,
        description="an object prefix such as overnight or team/overnight: lower-case letters, digits, '-' and '_'",
    )


class CmekConfig(Section):
    """Customer-managed encryption keys for buckets, datasets, registries and Vertex AI."""

    enabled: bool = False
    rotation_days: int = Field(default=90, ge=1, le=365, description="days between two key versions, 1 to 365")


class StorageConfig(Section):
    """Buckets: names where the default `<project_id>-<environment>-<purpose>` does not do, and how long things stay."""

    bucket_names: dict[Literal["data", "shards", "staging", "models", "logs"], BucketName] = {}
    noncurrent_days: Days = 30
    """How long a replaced or deleted object of `data`, `shards` and `models` can still be brought back as a version."""
    soft_delete_days: int = Field(default=30, ge=7, le=90, description="days, 7 to 90 (Cloud Storage's own bounds)")
    """How long a deleted object of these buckets can be restored, versions included."""
    staging_days: Days = 30
    """Pipeline roots and checkpoints older than this are deleted: longer than any run."""
    logs_days: Days = 400
    data_nearline_days: Days = 90
    """Originals are read once, when they become shards; after this many days they move to Nearline."""


class BigQueryConfig(Section):
    """The label dataset, which analysts edit, and the dataset of dated snapshots."""

    analysts: Annotated[list[Principal], AfterValidator(distinct)] = []
    """Who may edit the label table."""
    snapshot_days: Days = 400
    """A snapshot table is dropped after this many days; its exported Parquet in the shards bucket stays."""


def _a_registry_that_exists(name: str) -> str:
    """Container Registry's names look like any other."""
    if re.match(GONE_REGISTRY, name):
        raise ValueError("Container Registry (gcr.io) is gone; name a registry that exists")
    return name


ImageSource = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9.-]+\.[a-z]{2,}(:[0-9]+)?(/[a-z0-9._-]+)+$",
        description="a host and at least the first part of a path, such as us-docker.pkg.dev/acme-shared",
    ),
    AfterValidator(_a_registry_that_exists),
]


class ArtifactRegistryConfig(Section):
    """How long images and packages are kept, and whose images jobs may run."""

    allowed_registries: Annotated[list[ImageSource], AfterValidator(distinct)] = []
    """Where training images may come from beside the environment's own repository and Google's training images:
    everything under HOST/PATH, at a slash."""

    keep_recent_versions: int = Field(default=30, ge=1, le=1000, description="a count, 1 to 1000")
    """The newest versions of each image; KEEP always wins over DELETE."""
    untagged_days: Days = 180
    """Only images without a tag are ever deleted: a release is tagged by its commit, so a digest in use stays."""
    cache_days: Days = 14
    """Build caches can be made again."""


class GoogleConfig(Section):
    """One Google Cloud project."""

    project_id: str = Field(
        pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$",
        description="the project's id, not its display name: 6 to 30 lower-case letters, digits and hyphens",
    )
    project_number: str = Field(
        pattern=r"^[1-9][0-9]{5,14}$", description='the project\'s number in quotes, such as "481516234207"'
    )
    region: Region
    allowed_regions: Annotated[list[Region], AfterValidator(distinct)] = []
    """Regions that policies accept; `region` alone when empty."""
    labels: dict[str, LabelValue] = Field(description="labels with at least owner and cost_center")
    """On everything that carries labels; `owner` and `cost_center` are required."""
    protect: bool = True
    """Stateful resources refuse to be destroyed. Only for an environment that is to be torn down: false."""
    state: StateConfig
    cmek: CmekConfig = CmekConfig()
    storage: StorageConfig = StorageConfig()
    bigquery: BigQueryConfig = BigQueryConfig()
    artifact_registry: ArtifactRegistryConfig = ArtifactRegistryConfig()
    cloud_build: CloudBuildConfig
    persistent_resources: list[PersistentResource] = []
    schedules: SchedulesConfig
    monitoring: MonitoringConfig
    budget: BudgetConfig

    @field_validator("labels")
    @classmethod
    def _labels_fit(cls, labels: dict[str, str]) -> dict[str, str]:
        for required in ("owner", "cost_center"):
            if required not in labels:
                raise ValueError(f"{required!r} is missing; add it, the policies and the bill need it")
        if len(labels) + len(RESERVED_LABELS) > MAX_LABELS:
            most = MAX_LABELS - len(RESERVED_LABELS)
            raise ValueError(f"{len(labels)} labels are too many; keep at most {most}, the stacks add their own")
        for key, value in labels.items():
            if key in RESERVED_LABELS:
                raise ValueError(f"{key!r} is set by the stacks themselves; remove it")
            if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", key) or not re.fullmatch(r"[a-z0-9_-]{0,63}", value):
                raise ValueError(
                    f"the label {key}: {value!r} does not fit; "
                    "give at most 63 lower-case letters, digits, '-' and '_', its key beginning with a letter"
                )
        return labels
