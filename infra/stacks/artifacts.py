"""Registries, buckets, datasets: what is kept."""

from typing import Any

from infra.constructs import buckets, iam, registries
from infra.constructs.datasets import add_dataset
from infra.constructs.stack import Stack
from infra.settings import Settings
from overnight.config.names import Agent, Dataset, Purpose, Repository, Role

RELEASES = "releases/"
"""Where in the models bucket builds leave the records of what they released."""
ACCESS_LOG_WRITER = "group:cloud-storage-analytics@google.com"
"""Cloud Storage's own group, which delivers access logs. An organization that allows only members of its own domain
must allow it, too."""

BUCKET_ACCESS: dict[tuple[Role, str], tuple[str, tuple[Purpose, ...]]] = {
    ("pipeline", "reads"): (iam.READS, ("data",)),
    # It moves the champion's alias, which is a file in `models`, and clears away what a failed step left.
    ("pipeline", "writes"): (iam.WRITES, ("shards", "staging", "models")),
    ("training", "reads"): (iam.READS, ("shards", "models")),
    # Checkpoints are replaced there. A model never is: the account can add to `models`, not touch what is there.
    ("training", "writes"): (iam.WRITES, ("staging",)),
    ("training", "adds_to"): (iam.ADDS, ("models",)),
    ("pipeline", "opens"): (iam.OPENS, ("staging",)),
    ("training", "opens"): (iam.OPENS, ("shards", "staging")),
}

READER, WRITER = "roles/artifactregistry.reader", "roles/artifactregistry.writer"
REPOSITORY_ACCESS: dict[tuple[Role, str], tuple[str, tuple[Repository, ...]]] = {
    ("build", "pushes"): (WRITER, ("images", "cache", "pipelines", "python")),
    # Its code comes from a pull request: it may use the cache, not leave anything in it for a release to find.
    ("check", "pulls"): (READER, ("images", "cache")),
    # The builder image; and a plan reads each repository.
    ("plan", "pulls"): (READER, ("images", "cache", "pipelines", "python")),
    # It checks an image's digest before it submits a job, and fetches the templates that it runs.
    ("pipeline", "pulls"): (READER, ("images", "pipelines")),
}
AGENT_ACCESS: tuple[tuple[Agent, Repository], ...] = (
    # Vertex AI's agents pull images, never the account of the job (vertex-facts 4).
    ("aiplatform", "images"),
    ("aiplatform-cc", "images"),
    # It resolves templates (vertex-facts 1.7).
    ("aiplatform-cc", "pipelines"),
)
DATASET_ACCESS: tuple[tuple[str, str, Dataset], ...] = (
    ("reads", "roles/bigquery.dataViewer", "labels"),
    ("writes", "roles/bigquery.dataEditor", "snapshots"),
)
"""Of the pipeline account."""


class Artifacts(Stack):
    """Everything with a history."""

    name = "artifacts"
    apis = (
        "artifactregistry.googleapis.com",
        "bigquery.googleapis.com",
        # Cloud Build writes the provenance of images there.
        "containeranalysis.googleapis.com",
        "containerscanning.googleapis.com",
        "storage.googleapis.com",
    )

    def __init__(self, scope: Any, settings: Settings) -> None:
        super().__init__(scope, settings)
        self.repositories = self._repositories()
        self._repository_access()
        self.buckets = self._buckets()
        self._bucket_access()
        self.datasets = self._datasets()
        self._dataset_access()
        self._outputs()

    def _repositories(self) -> dict[Repository, Any]:
        config = self.google.artifact_registry
        return {
            "images": registries.add_repository(
                self,
                "images",
                "DOCKER",
                "Images of training jobs and pipeline steps, one tag a commit",
                cleanup=[
                    registries.newest_stay(config.keep_recent_versions),
                    registries.untagged_go(config.untagged_days),
                ],
                immutable_tags=True,
                scanned=True,
            ),
            "cache": registries.add_repository(
                self,
                "cache",
                "DOCKER",
                "Layers that make the next build quick",
                cleanup=[registries.all_go(config.cache_days)],
                # Every build moves its tags; nothing runs what is in it.
                immutable_tags=False,
                scanned=False,
            ),
            "pipelines": registries.add_repository(self, "pipelines", "KFP", "Compiled pipelines, named by digest"),
            "python": registries.add_repository(self, "python", "PYTHON", "Wheels of the trainer and of Overnight"),
        }

    def _repository_access(self) -> None:
        for (account, verb), (role, purposes) in REPOSITORY_ACCESS.items():
            for purpose in purposes:
                member = self.names.member(account)
                iam.on_repository(self, f"{account}_{verb}_{purpose}", role, member, self.repositories[purpose])
        for agent, purpose in AGENT_ACCESS:
            sentence = f"{agent.replace('-', '_')}_agent_pulls_{purpose}"
            iam.on_repository(self, sentence, READER, self.names.agent(agent), self.repositories[purpose])

    def _buckets(self) -> dict[Purpose, Any]:
        storage = self.google.storage
        old_versions = buckets.versions_deleted_after(storage.noncurrent_days)
        logs = buckets.add_bucket(self, "logs", rules=[buckets.deleted_after(storage.logs_days)])
        return {
            "data": buckets.add_bucket(
                self,
                "data",
                rules=[buckets.nearline_after(storage.data_nearline_days), old_versions],
                versioned=True,
                access_logs=logs,
            ),
            "shards": buckets.add_bucket(self, "shards", rules=[old_versions], versioned=True, access_logs=logs),
            # Checkpoints are large, replaced every few minutes and worth nothing afterwards: keeping what was deleted
            # would cost many times the bucket itself.
            "staging": buckets.add_bucket(
                self, "staging", rules=[buckets.deleted_after(storage.staging_days)], soft_deleted=False
            ),
            # No retention policy: it would forbid replacing the champion's alias, too.
            "models": buckets.add_bucket(self, "models", rules=[old_versions], versioned=True, access_logs=logs),
            "logs": logs,
        }

    def _bucket_access(self) -> None:
        for (account, verb), (role, purposes) in BUCKET_ACCESS.items():
            for purpose in purposes:
                member, bucket = self.names.member(account), self.buckets[purpose].name
                iam.on_bucket(self, f"{account}_{verb}_{purpose}", role, member, bucket)
        self._release_access()
        iam.on_bucket(self, "storage_adds_to_logs", iam.ADDS, ACCESS_LOG_WRITER, self.buckets["logs"].name)

    def _release_access(self) -> None:
        """Builds add records of releases. A record may not be replaced, so what stands there is read and compared."""
        only = iam.under(self.names.bucket("models"), RELEASES, "releases_only")
        for verb, role in (("adds_to", iam.ADDS), ("reads", iam.READS)):
            member, bucket = self.names.member("build"), self.buckets["models"].name
            iam.on_bucket(self, f"build_{verb}_releases", role, member, bucket, condition=only)

    def _datasets(self) -> dict[Dataset, Any]:
        days = self.google.bigquery.snapshot_days
        return {
            "labels": add_dataset(self, "labels", "The label table, which analysts edit"),
            "snapshots": add_dataset(self, "snapshots", "The label table as it was, by date", table_days=days),
        }

    def _dataset_access(self) -> None:
        for verb, role, purpose in DATASET_ACCESS:
            member = self.names.member("pipeline")
            iam.on_dataset(self, f"pipeline_{verb}_{purpose}", role, member, self.datasets[purpose])
        for number, analysts in enumerate(self.google.bigquery.analysts, start=1):
            sentence = f"analysts_{number}_edit_labels"
            iam.on_dataset(self, sentence, "roles/bigquery.dataEditor", analysts, self.datasets["labels"])

    def _outputs(self) -> None:
        paths = {purpose: self.names.repository_path(purpose) for purpose in self.repositories}
        self.output("buckets", {purpose: bucket.url for purpose, bucket in self.buckets.items()})
        self.output("datasets", {purpose: dataset.dataset_id for purpose, dataset in self.datasets.items()})
        self.output("repositories", paths)
        self.output("templates", f"https://{paths['pipelines']}")
