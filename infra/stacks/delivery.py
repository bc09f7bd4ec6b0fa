"""Cloud Build: the repository's link, triggers, worker pool, notifications."""

from typing import Any

from infra import cdk
from infra.constructs import iam
from infra.constructs.connection import add_repository
from infra.constructs.stack import Stack
from infra.constructs.triggers import TRIGGERS, add_trigger
from infra.constructs.worker_pool import add_worker_pool
from infra.settings import Settings
from overnight.config.names import Role

TOPIC = "cloud-builds"
"""The service's own name: Cloud Build publishes every build of the project to it, if it exists (vertex-facts 5)."""
WEEK = "604800s"
"""How long a notification can still be read: the longest a subscription keeps one."""
PLANS = "plans/"
"""Where in the logs bucket plans are kept."""


class Delivery(Stack):
    """The way from a pull request to production."""

    name = "delivery"
    apis = (
        "cloudbuild.googleapis.com",
        "pubsub.googleapis.com",
        "secretmanager.googleapis.com",
        "storage.googleapis.com",
    )

    def __init__(self, scope: Any, settings: Settings) -> None:
        super().__init__(scope, settings)
        self.repository = add_repository(self)
        self.worker_pool = self._worker_pool()
        self._triggers()
        self._plan_records()
        self._notifications()

    def _worker_pool(self) -> Any:
        config = self.google.cloud_build.private_pool
        pool = add_worker_pool(self, config) if config else None
        self.output("worker_pool", pool.id if pool else "")
        return pool

    def _triggers(self) -> None:
        substitutions = self._substitutions()
        made = {
            trigger.name: add_trigger(self, trigger, self.repository, substitutions).trigger_id for trigger in TRIGGERS
        }
        self.output("triggers", made)
        self.output("repository", self.repository.id)

    def _substitutions(self) -> dict[str, str]:
        """What the files of cloudbuild/ are told; one set for all of them."""
        return {
            "_ENVIRONMENT": self.settings.environment,
            "_CONFIG": f"config/{self.settings.environment}.yaml",
            "_REGION": self.google.region,
            "_BUILDER_IMAGE": self.google.cloud_build.builder_image,
            # Empty: Cloud Build's own machines.
            "_POOL": self.worker_pool.id if self.worker_pool else "",
            "_REPOSITORY": self.names.repository_path("images"),
            "_CACHE_REPOSITORY": self.names.repository_path("cache"),
            "_PIPELINES_REPOSITORY": f"https://{self.names.repository_path('pipelines')}",
            "_LOGS_BUCKET": self.names.bucket("logs"),
            "_RELEASES": f"gs://{self.names.bucket('models')}/releases",
            "_SOURCE": self.google.cloud_build.repository.remote_uri.removesuffix(".git"),
            **self._base_images(),
        }

    def _base_images(self) -> dict[str, str]:
        """Empty where none are chosen: what needs them is disabled then."""
        bases = self.google.cloud_build.base_images
        return {
            "_BASE_BUILDER": bases.builder if bases else "",
            "_BASE_STEPS": bases.steps if bases else "",
            "_BASE_TRAINER_CPU": bases.trainer_cpu if bases else "",
            "_BASE_TRAINER_GPU": bases.trainer_gpu if bases else "",
        }

    def _plan_records(self) -> None:
        """Builds that plan may add to the record of plans; they can neither read nor replace what is there."""
        bucket = self.names.bucket("logs")
        only = iam.under(bucket, PLANS, "plans_only")
        accounts: tuple[Role, ...] = ("plan", "deploy")
        for account in accounts:
            sentence = f"{account}_records_plans"
            iam.on_bucket(self, sentence, iam.ADDS, self.names.member(account), bucket, condition=only)

    def _notifications(self) -> None:
        if not self.google.cloud_build.notifications:
            self.output("topic", "")
            self.output("subscription", "")
            return
        topic = cdk.PubsubTopic(
            self,
            "builds_topic",
            name=TOPIC,
            kms_key_name=self.names.key("storage") if self.google.cmek.enabled else None,
            message_retention_duration=WEEK,
            message_storage_policy=cdk.PubsubTopicMessageStoragePolicy(
                allowed_persistence_regions=self.settings.allowed_regions
            ),
            labels=self.labels,
        )
        self.output("topic", topic.id)
        self._subscription(topic)

    def _subscription(self, topic: Any) -> None:
        """Pulled by the control plane as the pipeline account.

        No dead-letter topic: a message only repeats what the Cloud Build API answers for the same build.
        """
        subscription = cdk.PubsubSubscription(
            self,
            "builds_subscription",
            name=self.names.prefixed(TOPIC),
            topic=topic.id,
            ack_deadline_seconds=60,
            message_retention_duration=WEEK,
            # Empty: a subscription that nobody has pulled for 31 days would otherwise be deleted.
            expiration_policy=cdk.PubsubSubscriptionExpirationPolicy(ttl=""),
            retry_policy=cdk.PubsubSubscriptionRetryPolicy(minimum_backoff="10s", maximum_backoff="600s"),
            labels=self.labels,
        )
        cdk.PubsubSubscriptionIamMember(
            self,
            "pipeline_reads_builds",
            subscription=subscription.name,
            role="roles/pubsub.subscriber",
            member=self.names.member("pipeline"),
        )
        self.output("subscription", subscription.id)
