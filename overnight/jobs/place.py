"""What the environment gives a job of its own on Vertex AI: project, account, buckets, labels."""

from collections.abc import Mapping
from dataclasses import dataclass

from overnight.config import Environment
from overnight.config.names import Names
from overnight.jobs.errors import SpecError


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where jobs of one environment run, and what they are given when the spec says nothing."""

    project: str
    """The project's id."""
    account: str
    """The service account that training jobs run as."""
    staging: str
    """The bucket whose objects training may replace: checkpoints need that (docs/infra-iam.md)."""
    shards: str
    """The bucket with the folders `shards/` and `snapshots/`."""
    labels: Mapping[str, str]
    """On everything, so that the bill can be told apart."""
    tensorboard: str | None = None
    """Full name; Terraform knows it, an environment file cannot: its id is drawn when it is made."""


def place_of(environment: Environment, tensorboard: str | None = None) -> Place:
    """The place of an environment, as the stacks name it; raises SpecError when it has no Google Cloud project."""
    google = environment.google
    if google is None:
        raise SpecError(
            f"environment {environment.environment} has no project",
            where="google",
            remedy="give an environment with one by --config, or run the job on this machine by `overnight run`",
        )
    names = Names(environment=environment.environment, google=google)
    return Place(
        project=google.project_id,
        account=names.account("training"),
        staging=names.bucket("staging"),
        shards=names.bucket("shards"),
        labels={**google.labels, "environment": environment.environment},
        tensorboard=tensorboard or None,
    )
