"""Mistakes in schedules, pools, APIs, builds and alerts."""

from policies.documents import Document, Values
from policies.mistakes import account, change_request, mutation

DATASET = "google_bigquery_dataset"
TRIGGER = "google_cloudbuild_trigger"
POOL = "google_vertex_ai_persistent_resource"
SCHEDULE = "google_colab_schedule"
JOB = "google_cloud_scheduler_job"
RING = "google_kms_key_ring"
ALERT = "google_monitoring_alert_policy"
BUDGET = "google_billing_budget"


def on_pull_requests(values: Values) -> bool:
    """A trigger that pull requests start."""
    events = values.get("repository_event_config") or []
    return any(event.get("pull_request") for event in (events if isinstance(events, list) else [events]))


@mutation("plan", "training", "OVN701", SCHEDULE)
def cron_without_a_zone(document: Document) -> None:
    document.first(SCHEDULE).set("cron", "0 20 * * 5")


@mutation("plan", "training", "OVN701", JOB)
def job_in_the_default_zone(document: Document) -> None:
    job = document.first(JOB)
    job.drop("time_zone")
    job.set("time_zone", "Etc/UTC")  # what the provider fills in


@mutation("plan", "training", "OVN702", SCHEDULE)
def two_starts_at_once(document: Document) -> None:
    document.first(SCHEDULE).set("max_concurrent_run_count", "2")


@mutation("synth", "training", "OVN702", SCHEDULE)
def no_limit_of_runs(document: Document) -> None:
    document.first(SCHEDULE).drop("max_concurrent_active_run_count")


@mutation("plan", "training", "OVN703", SCHEDULE)
def runs_that_queue(document: Document) -> None:
    document.first(SCHEDULE).set("allow_queueing", True)


@mutation("plan", "training", "OVN704", JOB)
def start_retried(document: Document) -> None:
    document.first(JOB).set("retry_config", [{"retry_count": 3}])


@mutation("synth", "training", "OVN704", JOB)
def start_retried_for_a_time(document: Document) -> None:
    document.first(JOB).set("retry_config", {"retry_count": 0, "max_retry_duration": "600s"})


@mutation("plan", "training", "OVN705", JOB)
def run_id_fixed(document: Document) -> None:
    change_request(document, pipelineJobId="weekly")


@mutation("plan", "training", "OVN801", POOL)
def pool_without_an_owner(document: Document) -> None:
    for entry in document.policy["persistent_resources"].values():
        entry["owner"] = ""


@mutation("synth", "training", "OVN801", POOL)
def pool_that_the_configuration_does_not_know(document: Document) -> None:
    document.policy["persistent_resources"] = {}


@mutation("plan", "training", "OVN802", POOL)
def pool_expired(document: Document) -> None:
    for entry in document.policy["persistent_resources"].values():
        entry["expires"] = "2020-01-31"


def forget_services(document: Document, type_: str) -> None:
    """Let the resources of a type not wait for any API."""
    for one in document.resources(type_):
        kept = [address for address in one.configuration["depends_on"] if "google_project_service" not in address]
        one.configuration["depends_on"] = kept


@mutation("plan", "foundation", "OVN811", RING)
def key_ring_before_its_api(document: Document) -> None:
    forget_services(document, RING)


@mutation("synth", "foundation", "OVN811", "google_service_account")
def accounts_before_their_api(document: Document) -> None:
    forget_services(document, "google_service_account")


@mutation("plan", "artifacts", "OVN812", DATASET)
def bigquery_not_enabled(document: Document) -> None:
    document.policy["required_apis"].remove("bigquery.googleapis.com")


@mutation("synth", "training", "OVN812", ALERT)
def monitoring_not_enabled(document: Document) -> None:
    document.policy["required_apis"].remove("monitoring.googleapis.com")


@mutation("plan", "delivery", "OVN901", TRIGGER)
def trigger_as_the_default_account(document: Document) -> None:
    document.first(TRIGGER).drop("service_account")


@mutation("plan", "delivery", "OVN902", TRIGGER)
def apply_without_approval(document: Document) -> None:
    document.first(TRIGGER, lambda values: "apply" in (values["filename"] or "")).set("approval_config", [])


@mutation("synth", "delivery", "OVN902", TRIGGER)
def apply_with_approval_switched_off(document: Document) -> None:
    trigger = document.first(TRIGGER, lambda values: "apply" in values.get("filename", ""))
    trigger.block("approval_config")["approval_required"] = False


@mutation("plan", "delivery", "OVN903", TRIGGER)
def pull_requests_as_build(document: Document) -> None:
    email = account(document, "build").removeprefix("serviceAccount:")
    trigger = document.first(TRIGGER, on_pull_requests)
    trigger.set("service_account", f"projects/{document.policy['project_id']}/serviceAccounts/{email}")


@mutation("synth", "delivery", "OVN903", TRIGGER)
def pull_requests_as_deploy(document: Document) -> None:
    email = account(document, "deploy").removeprefix("serviceAccount:")
    document.first(TRIGGER, on_pull_requests).set("service_account", f"projects/p/serviceAccounts/{email}")


@mutation("plan", "training", "OVN911", ALERT)
def alert_for_nobody(document: Document) -> None:
    document.first(ALERT).set("notification_channels", [])


@mutation("synth", "training", "OVN912", BUDGET)
def budget_that_says_nothing(document: Document) -> None:
    document.first(BUDGET).drop("threshold_rules")


@mutation("plan", "any", "OVN913")
def metric_that_nobody_uses(document: Document) -> None:
    document.add("google_logging_metric", {"name": "nobody-looks", "filter": "severity=ERROR"}, "logging")
