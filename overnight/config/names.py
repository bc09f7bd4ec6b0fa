"""What everything in a project is called: pure functions of the environment.

So stacks need not read each other's state, and the control plane needs no Terraform to find a bucket.
"""

from dataclasses import dataclass
from typing import Literal

from overnight.config.google import GoogleConfig

Role = Literal["build", "check", "plan", "deploy", "pipeline", "training", "scheduler"]
ROLES: dict[Role, str] = {
    "build": "builds and pushes images on merge",
    "check": "tests pull requests; may change nothing",
    "plan": "plans infrastructure; reads only",
    "deploy": "applies infrastructure after approval",
    "pipeline": "runs the weekly pipeline and submits its jobs",
    "training": "runs inside training jobs",
    "scheduler": "starts pipelines when Cloud Scheduler is the engine",
}
"""One service account a role. Pull requests bring code nobody has read: neither build nor deploy may run it."""

Purpose = Literal["data", "shards", "staging", "models", "logs"]
"""Of a bucket: originals; shard sets and snapshots; pipeline roots and checkpoints; models and run records; logs."""
Repository = Literal["images", "cache", "pipelines", "python"]
Format = Literal["docker", "kfp", "python"]
FORMATS: dict[Repository, Format] = {"images": "docker", "cache": "docker", "pipelines": "kfp", "python": "python"}
"""What each repository holds."""
Dataset = Literal["labels", "snapshots"]
Key = Literal["storage", "bigquery", "registry", "training"]
Agent = Literal["aiplatform", "aiplatform-cc", "cloudbuild", "artifactregistry", "pubsub"]


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of one environment; two environments may share a project."""

    environment: str
    google: GoogleConfig

    def account_id(self, role: Role) -> str:
        """The part before the @; 6 to 30 characters."""
        return f"{self.environment}-{role}"

    def account(self, role: Role) -> str:
        """The service account's e-mail address."""
        return f"{self.account_id(role)}@{self.google.project_id}.iam.gserviceaccount.com"

    def member(self, role: Role) -> str:
        """The service account as an IAM member."""
        return f"serviceAccount:{self.account(role)}"

    def account_resource(self, role: Role) -> str:
        """The service account as the resource that IAM policies and Cloud Build name."""
        return f"projects/{self.google.project_id}/serviceAccounts/{self.account(role)}"

    def agent(self, service: Agent) -> str:
        """A Google service agent as an IAM member (vertex-facts 4: agents pull images, not job accounts)."""
        return f"serviceAccount:service-{self.google.project_number}@gcp-sa-{service}.iam.gserviceaccount.com"

    def bucket(self, purpose: Purpose) -> str:
        """Bucket names are global: the project's id makes them ours."""
        default = f"{self.google.project_id}-{self.environment}-{purpose}"
        return self.google.storage.bucket_names.get(purpose, default)

    def repository(self, purpose: Repository) -> str:
        """An Artifact Registry repository's id."""
        return f"{self.environment}-{purpose}"

    def registry_host(self, format_: Format) -> str:
        """The region's registry host for one format."""
        return f"{self.google.region}-{format_}.pkg.dev"

    def repository_path(self, purpose: Repository) -> str:
        """Where clients of the repository's format find it, without scheme: HOST/PROJECT/REPOSITORY."""
        return f"{self.registry_host(FORMATS[purpose])}/{self.google.project_id}/{self.repository(purpose)}"

    def dataset(self, purpose: Dataset) -> str:
        """BigQuery allows no hyphens."""
        return f"{self.environment.replace('-', '_')}_{purpose}"

    def custom_role(self, name: str) -> str:
        """A custom role as bindings name it; its id, the last part, allows no hyphens."""
        return f"projects/{self.google.project_id}/roles/{self.environment.replace('-', '_')}_{name}"

    def key_ring(self) -> str:
        """The KMS key ring; it can never be deleted, so its name must be able to come back."""
        return f"{self.environment}-overnight"

    def key(self, purpose: Key) -> str:
        """A KMS key's full name, for the stacks that use it."""
        ring = f"projects/{self.google.project_id}/locations/{self.google.region}/keyRings/{self.key_ring()}"
        return f"{ring}/cryptoKeys/{purpose}"

    def prefixed(self, name: str) -> str:
        """Any other name, told apart by environment: triggers, topics, schedules, alert policies."""
        return f"{self.environment}-{name}"
