"""Google's service agents: which of them exist, and what makes them.

Google makes an agent when a service is first used; google_project_service_identity makes it beforehand. A role
granted before that is refused, which is why strict mode knows them (cloud.google.com/iam/docs/service-agents).
"""

from collections.abc import Iterator

from terraform.emulator.cloud import Contents, objects

BY_SERVICE = {
    "aiplatform.googleapis.com": ("gcp-sa-aiplatform", "gcp-sa-aiplatform-cc"),
    "artifactregistry.googleapis.com": ("gcp-sa-artifactregistry",),
    "cloudbuild.googleapis.com": ("gcp-sa-cloudbuild",),
    "cloudscheduler.googleapis.com": ("gcp-sa-cloudscheduler",),
    "dataflow.googleapis.com": ("dataflow-service-producer-prod",),
    "logging.googleapis.com": ("gcp-sa-logging",),
    "monitoring.googleapis.com": ("gcp-sa-monitoring-notification",),
    "pubsub.googleapis.com": ("gcp-sa-pubsub",),
    "secretmanager.googleapis.com": ("gcp-sa-secretmanager",),
}
"""Service to its agents; the first is the one whose e-mail the identity resource returns."""
ALWAYS_THERE = (
    "service-{number}@gs-project-accounts.iam.gserviceaccount.com",
    "bq-{number}@bigquery-encryption.iam.gserviceaccount.com",
    "{number}@cloudservices.gserviceaccount.com",
    "{number}-compute@developer.gserviceaccount.com",
    "{number}@cloudbuild.gserviceaccount.com",
)
"""Made with the project or by asking for their address, which the data sources do."""


def email(service: str, number: str) -> str:
    """The address that a service's identity has; by convention where the service is not listed."""
    agent = BY_SERVICE.get(service, (f"gcp-sa-{service.split('.')[0]}",))[0]
    return _address(agent, number)


def existing(contents: Contents, number: str) -> Iterator[str]:
    """The addresses of the agents that are there."""
    yield from (address.format(number=number) for address in ALWAYS_THERE)
    for identity in objects(contents, "google_project_service_identity").values():
        yield identity["email"]
        yield from (_address(agent, number) for agent in BY_SERVICE.get(identity["service"], ()))
    if objects(contents, "google_logging_project_sink"):
        yield _address("gcp-sa-logging", number)


def _address(agent: str, number: str) -> str:
    return f"service-{number}@{agent}.iam.gserviceaccount.com"
