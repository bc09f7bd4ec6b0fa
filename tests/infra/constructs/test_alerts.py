import re
from pathlib import Path
from typing import Any

import pytest

from infra.constructs import alerts
from infra.constructs.alerts import missed_query, promql_name
from log_filter import matches
from overnight.config import ConfigError
from overnight.config.cron import Cron
from training_stack import resources, stack

RUNBOOK = Path(__file__).parents[3] / "docs" / "infra-monitoring.md"
POLICIES = resources("google_monitoring_alert_policy")
ON_LOG_ENTRY = ("job_failed", "loss_diverged", "out_of_memory", "snapshot_rejected")
MISSED = ("weekly_window_missed", "monthly_tuning_window_missed")


def policy(name: str) -> dict[str, Any]:
    return POLICIES[f"{name}_alert"]


def condition(name: str) -> dict[str, Any]:
    """A policy's only condition."""
    (only,) = policy(name)["conditions"]
    return dict(only)


def test_there_is_an_alert_for_every_kind_of_bad_night() -> None:
    assert set(POLICIES) == {f"{name}_alert" for name in (*ON_LOG_ENTRY, *MISSED, "gpu_idle")}


@pytest.mark.parametrize("name", [name.removesuffix("_alert") for name in POLICIES])
def test_every_alert_reaches_someone_and_says_what_to_do(name: str) -> None:
    made = policy(name)
    channel = "google_monitoring_notification_channel.vision_oncall_acme_example_channel"
    assert made["notification_channels"] == [f"${{{channel}.name}}"]
    assert made["severity"] in ("CRITICAL", "ERROR", "WARNING")
    assert made["user_labels"]["owner"] == "vision-team"
    assert made["display_name"] == f"example-{name.replace('_', '-')}"
    assert made["alert_strategy"]["auto_close"] == "86400s"
    documentation = made["documentation"]
    (link,) = documentation["links"]
    assert documentation["content"].endswith(f"]({link['url']})")
    assert len(documentation["content"].split(". ")) >= 2


@pytest.mark.parametrize("name", [name.removesuffix("_alert") for name in POLICIES])
def test_every_alert_links_to_a_section_that_exists(name: str) -> None:
    (link,) = policy(name)["documentation"]["links"]
    page, _, anchor = link["url"].partition("#")
    assert page == "https://github.com/acme/vision-overnight/blob/main/docs/infra-monitoring.md"
    headings = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    assert anchor in {heading.lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", ON_LOG_ENTRY)
def test_an_alert_on_a_log_entry_is_sent_at_most_hourly_and_names_the_job(name: str) -> None:
    matched = condition(name)["condition_matched_log"]
    assert policy(name)["alert_strategy"]["notification_rate_limit"] == {"period": "3600s"}
    assert matched["label_extractors"]["job"] == "EXTRACT(resource.labels.job_id)"


def test_a_failed_pipeline_and_a_failed_job_both_fire_job_failed() -> None:
    filter_ = condition("job_failed")["condition_matched_log"]["filter"]
    log = "projects/acme-vision-prod/logs/aiplatform.googleapis.com%2Fpipeline_job_events"
    failed = {
        "logName": log,
        "resource": {"type": "aiplatform.googleapis.com/PipelineJob"},
        "jsonPayload": {"state": "PIPELINE_STATE_FAILED"},
    }
    text = "The replica workerpool0-0 exited with a non-zero status of 1. Termination reason: Error."
    assert matches(filter_, failed)
    assert matches(filter_, {"logName": "x", "resource": {"type": "ml_job"}, "textPayload": text})
    assert not matches(filter_, {**failed, "jsonPayload": {"state": "PIPELINE_STATE_SUCCEEDED"}})


def test_an_idle_gpu_is_a_low_mean_over_a_whole_job_for_as_long_as_configured() -> None:
    threshold = condition("gpu_idle")["condition_threshold"]
    assert threshold["filter"] == (
        'resource.type="cloudml_job" AND metric.type="ml.googleapis.com/training/accelerator/utilization"'
    )
    assert (threshold["comparison"], threshold["threshold_value"]) == ("COMPARISON_LT", alerts.IDLE_UTILIZATION)
    assert threshold["duration"] == "1800s"
    assert threshold["evaluation_missing_data"] == "EVALUATION_MISSING_DATA_INACTIVE"
    (aggregation,) = threshold["aggregations"]
    assert aggregation["group_by_fields"] == ["resource.label.job_id"]


def test_the_configured_minutes_decide_when_a_gpu_is_idle() -> None:
    def patient(google: dict[str, Any]) -> None:
        google["monitoring"]["gpu_idle_minutes"] = 45

    (only,) = resources("google_monitoring_alert_policy", patient)["gpu_idle_alert"]["conditions"]
    assert only["condition_threshold"]["duration"] == "2700s"


def test_a_missed_weekly_window_is_asked_for_in_one_hour_of_the_week() -> None:
    """Friday 20:00 in Paris is 18:00 or 19:00 UTC; 12 hours later at the latest is Saturday 07:00 UTC."""
    query = condition("weekly_window_missed")["condition_prometheus_query_language"]["query"]
    assert query == (
        "((sum(increase(logging_googleapis_com:user_example_weekly_finished[13h])) or vector(0))"
        " + (sum(increase(logging_googleapis_com:user_example_weekly_reported[13h])) or vector(0)))"
        " < 0.5 and on() (hour() == 7) and on() (day_of_week() == 6)"
    )


def test_a_missed_monthly_window_is_asked_for_in_one_hour_of_the_month() -> None:
    query = condition("monthly_tuning_window_missed")["condition_prometheus_query_language"]["query"]
    assert query.endswith(" < 0.5 and on() (hour() == 7) and on() (day_of_month() == 2)")


def test_a_window_that_ends_on_a_sunday_is_asked_for_on_day_0() -> None:
    end = Cron.parse("CRON_TZ=UTC 0 20 * * 6").window_ends(12)
    assert missed_query(["custom.googleapis.com/a"], end).endswith(
        "and on() (hour() == 8) and on() (day_of_week() == 0)"
    )


@pytest.mark.parametrize("name", MISSED)
def test_a_missed_window_needs_its_metrics_and_is_not_told_closed(name: str) -> None:
    made, schedule = policy(name), name.removesuffix("_window_missed")
    assert made["depends_on"] == [f"google_logging_metric.{schedule}_{end}_metric" for end in ("finished", "reported")]
    assert made["alert_strategy"]["notification_prompts"] == ["OPENED"]
    promql = condition(name)["condition_prometheus_query_language"]
    assert promql["disable_metric_validation"] is True
    assert promql["duration"] == "600s"


@pytest.mark.parametrize(
    ("metric", "promql"),
    [
        ("kubernetes.io/container/cpu/limit_cores", "kubernetes_io:container_cpu_limit_cores"),
        ("logging.googleapis.com/user/prod-eu-weekly-finished", "logging_googleapis_com:user_prod_eu_weekly_finished"),
    ],
)
def test_metric_names_become_promql_as_google_documents_it(metric: str, promql: str) -> None:
    assert promql_name(metric) == promql


def test_each_address_is_one_channel_whatever_it_is_written_with() -> None:
    def several(google: dict[str, Any]) -> None:
        google["monitoring"]["notification_emails"] = ["a.b+c@acme.example", "night@acme.example"]

    channels = resources("google_monitoring_notification_channel", several)
    assert set(channels) == {"a_b_c_acme_example_channel", "night_acme_example_channel"}
    assert channels["a_b_c_acme_example_channel"]["labels"] == {"email_address": "a.b+c@acme.example"}
    policies = resources("google_monitoring_alert_policy", several)
    assert all(len(made["notification_channels"]) == 2 for made in policies.values())


def test_an_address_may_begin_with_a_digit_which_a_name_in_terraform_may_not() -> None:
    def digit(google: dict[str, Any]) -> None:
        google["monitoring"]["notification_emails"] = ["24x7@acme.example"]

    assert set(resources("google_monitoring_notification_channel", digit)) == {"_24x7_acme_example_channel"}


def test_two_addresses_that_would_share_a_name_are_refused_in_one_sentence() -> None:
    def alike(google: dict[str, Any]) -> None:
        google["monitoring"]["notification_emails"] = ["on.call@acme.example", "on-call@acme.example"]

    with pytest.raises(ConfigError, match=r"on\.call@acme\.example and on-call@acme\.example would have the same name"):
        stack(alike)
