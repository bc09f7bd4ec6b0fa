import base64
import json
from typing import Any

import pytest

from training_stack import example, resources, synthesized

SCHEDULE, JOB = "google_colab_schedule", "google_cloud_scheduler_job"


def by_scheduler(google: dict[str, Any]) -> None:
    google["schedules"]["engine"] = "cloud_scheduler"


def own_keys_off(google: dict[str, Any]) -> None:
    google["cmek"]["enabled"] = False


def by_scheduler_own_keys_off(google: dict[str, Any]) -> None:
    by_scheduler(google)
    own_keys_off(google)


def weekly_paused(google: dict[str, Any]) -> None:
    google["schedules"]["weekly"]["enabled"] = False


def by_scheduler_weekly_paused(google: dict[str, Any]) -> None:
    by_scheduler(google)
    weekly_paused(google)


def body(name: str, edit: Any = by_scheduler) -> dict[str, Any]:
    """What Cloud Scheduler posts."""
    loaded: dict[str, Any] = json.loads(base64.b64decode(resources(JOB, edit)[name]["http_target"]["body"]))
    return loaded


def pipeline_job(name: str, edit: Any) -> dict[str, Any]:
    """What a Vertex AI schedule starts."""
    (request,) = resources(SCHEDULE, edit)[name]["create_pipeline_job_request"]
    (job,) = request["pipeline_job"]
    return dict(job)


def test_two_schedules_start_the_pinned_templates_in_their_time_zone() -> None:
    made = resources(SCHEDULE)
    assert set(made) == {"weekly_schedule", "monthly_tuning_schedule"}
    assert made["weekly_schedule"]["cron"] == "CRON_TZ=Europe/Paris 0 20 * * 5"
    (request,) = made["weekly_schedule"]["create_pipeline_job_request"]
    (job,) = request["pipeline_job"]
    assert job["template_uri"] == example().google.schedules.weekly.template_uri
    assert job["service_account"] == "example-pipeline@acme-vision-prod.iam.gserviceaccount.com"
    assert job["labels"]["schedule"] == "weekly"
    assert job["runtime_config"] == [
        {
            "gcs_output_directory": "gs://acme-vision-prod-example-staging/pipelines/weekly",
            "failure_policy": "PIPELINE_FAILURE_POLICY_FAIL_FAST",
            "parameter_values": {
                "config": "/gcs/acme-vision-prod-example-data/config/example.yaml",
                "images": "/gcs/acme-vision-prod-example-data/weekly.csv",
                "job": "/gcs/acme-vision-prod-example-data/jobs/weekly-a100-spot.yaml",
            },
        }
    ]


@pytest.mark.parametrize("name", ["weekly_schedule", "monthly_tuning_schedule"])
def test_two_runs_of_one_schedule_never_overlap(name: str) -> None:
    made = resources(SCHEDULE)[name]
    assert (made["max_concurrent_run_count"], made["max_concurrent_active_run_count"]) == ("1", "1")
    assert made["allow_queueing"] is False


def test_a_disabled_schedule_is_kept_paused_and_misses_no_window() -> None:
    made = resources(SCHEDULE, weekly_paused)
    states = {name: schedule["desired_state"] for name, schedule in made.items()}
    assert states == {"weekly_schedule": "PAUSED", "monthly_tuning_schedule": "ACTIVE"}
    policies = resources("google_monitoring_alert_policy", weekly_paused)
    assert "weekly_window_missed_alert" not in policies
    assert "monthly_tuning_window_missed_alert" in policies


def test_the_other_engine_makes_scheduler_jobs_instead() -> None:
    assert resources(SCHEDULE, by_scheduler) == {}
    assert resources(JOB) == {}
    job = resources(JOB, by_scheduler)["weekly_schedule"]
    assert (job["schedule"], job["time_zone"]) == ("0 20 * * 5", "Europe/Paris")
    assert job["retry_config"] == {"retry_count": 0}
    assert job["paused"] is False
    target = job["http_target"]
    assert target["uri"] == (
        "https://us-central1-aiplatform.googleapis.com/v1/projects/acme-vision-prod/locations/us-central1/pipelineJobs"
    )
    assert target["http_method"] == "POST"
    assert target["headers"] == {"Content-Type": "application/json"}
    assert target["oauth_token"] == {
        "service_account_email": "example-scheduler@acme-vision-prod.iam.gserviceaccount.com",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
    }


def test_a_disabled_schedule_is_paused_by_the_other_engine_too() -> None:
    made = resources(JOB, by_scheduler_weekly_paused)
    assert {name: job["paused"] for name, job in made.items()} == {
        "weekly_schedule": True,
        "monthly_tuning_schedule": False,
    }


@pytest.mark.parametrize("name", ["weekly_schedule", "monthly_tuning_schedule"])
@pytest.mark.parametrize(
    ("vertex", "scheduler"), [(None, by_scheduler), (own_keys_off, by_scheduler_own_keys_off)], ids=["cmek", "no-cmek"]
)
def test_both_engines_start_the_same_run(name: str, vertex: Any, scheduler: Any) -> None:
    def terraform_names(value: Any) -> Any:
        """The API's JSON in Terraform's words: snake_case, objects as blocks."""
        if not isinstance(value, dict):
            return value
        named = {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): item for key, item in value.items()}
        maps = ("labels", "parameter_values")
        return {
            key: [terraform_names(item)] if isinstance(item, dict) and key not in maps else item
            for key, item in named.items()
        }

    posted = body(name, scheduler)
    assert "name" not in posted
    assert terraform_names(posted) == (pipeline_job(name, vertex) if vertex else _example_job(name))


def _example_job(name: str) -> dict[str, Any]:
    (request,) = resources(SCHEDULE)[name]["create_pipeline_job_request"]
    (job,) = request["pipeline_job"]
    return dict(job)


def test_runs_are_encrypted_with_the_training_key_only_when_asked() -> None:
    key = "projects/acme-vision-prod/locations/us-central1/keyRings/example-overnight/cryptoKeys/training"
    assert _example_job("weekly_schedule")["encryption_spec"] == [{"kms_key_name": key}]
    assert body("weekly_schedule")["encryptionSpec"] == {"kmsKeyName": key}
    assert "encryption_spec" not in pipeline_job("weekly_schedule", own_keys_off)
    assert "encryptionSpec" not in body("weekly_schedule", by_scheduler_own_keys_off)


@pytest.mark.parametrize(("edit", "kind"), [(None, SCHEDULE), (by_scheduler, JOB)])
def test_the_output_names_the_schedules_of_either_engine(edit: Any, kind: str) -> None:
    made = synthesized(edit) if edit else synthesized()
    output = made["output"]["schedules"]["value"]
    assert output["weekly"] == f"${{{kind}.weekly_schedule.name}}"
    assert output["monthly_tuning"] == f"${{{kind}.monthly_tuning_schedule.name}}"
    assert output["engine"] == ("cloud_scheduler" if edit else "vertex_ai")
