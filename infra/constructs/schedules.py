"""Pipelines started by the clock: by Vertex AI's own schedules, or by Cloud Scheduler."""

import base64
import json
from typing import Any

from infra import cdk
from infra.constructs.stack import Stack
from overnight.config.cron import Cron
from overnight.config.training import ScheduledPipeline


def create_vertex_schedule(stack: Stack, name: str, pipeline: ScheduledPipeline) -> Any:
    """A Vertex AI schedule; `name` is `weekly` or `monthly_tuning`. A disabled one is kept, paused.

    The provider calls the resource after the service that came first; pipelines have no other (terraform-offline 3a).
    """
    limit = str(pipeline.max_concurrent_run_count)
    return cdk.raw(
        stack,
        f"{name}_schedule",
        "google_colab_schedule",
        {
            "display_name": _display_name(stack, name),
            "location": stack.google.region,
            "cron": Cron.parse(pipeline.cron).text,
            # The first bounds requests that start, the second runs that go on: both, or a late run is overtaken.
            "max_concurrent_run_count": limit,
            "max_concurrent_active_run_count": limit,
            # A run that could not start is skipped: next week's has newer labels.
            "allow_queueing": False,
            "desired_state": "ACTIVE" if pipeline.enabled else "PAUSED",
            "create_pipeline_job_request": [{"pipeline_job": [_pipeline_job(stack, name, pipeline)]}],
        },
    )


def create_scheduler_job(stack: Stack, name: str, pipeline: ScheduledPipeline) -> Any:
    """The same start as a Cloud Scheduler job: no guard against overlap, and at least once, not exactly once."""
    google, cron = stack.google, Cron.parse(pipeline.cron)
    parent = f"projects/{google.project_id}/locations/{google.region}"
    return cdk.CloudSchedulerJob(
        stack,
        f"{name}_schedule",
        name=_display_name(stack, name),
        region=google.region,
        description=f"Starts the {name.replace('_', ' ')} pipeline.",
        schedule=cron.schedule,
        time_zone=cron.time_zone,
        paused=not pipeline.enabled,
        # Not retried by itself: a request that was late, not lost, would be a second run.
        retry_config=cdk.CloudSchedulerJobRetryConfig(retry_count=0),
        attempt_deadline="180s",
        http_target=cdk.CloudSchedulerJobHttpTarget(
            http_method="POST",
            uri=f"https://{google.region}-aiplatform.googleapis.com/v1/{parent}/pipelineJobs",
            headers={"Content-Type": "application/json"},
            body=base64.b64encode(_request(stack, name, pipeline)).decode(),
            oauth_token=cdk.CloudSchedulerJobHttpTargetOauthToken(
                service_account_email=stack.names.account("scheduler"),
                scope="https://www.googleapis.com/auth/cloud-platform",
            ),
        ),
    )


def _request(stack: Stack, name: str, pipeline: ScheduledPipeline) -> bytes:
    """The PipelineJob as the API's JSON. The service makes up its id: one written here would fit one run only."""
    job: dict[str, Any] = {
        "displayName": _display_name(stack, name),
        "templateUri": pipeline.template_uri,
        "serviceAccount": stack.names.account("pipeline"),
        "labels": _labels(stack, name),
        "runtimeConfig": {
            "gcsOutputDirectory": _output_directory(stack, name),
            "failurePolicy": "PIPELINE_FAILURE_POLICY_FAIL_FAST",
            "parameterValues": pipeline.parameter_values,
        },
    }
    if stack.google.cmek.enabled:
        job["encryptionSpec"] = {"kmsKeyName": stack.names.key("training")}
    return json.dumps(job, sort_keys=True).encode()


def _pipeline_job(stack: Stack, name: str, pipeline: ScheduledPipeline) -> dict[str, Any]:
    job: dict[str, Any] = {
        "display_name": _display_name(stack, name),
        "template_uri": pipeline.template_uri,
        # Without one the steps run as the Compute Engine default account (vertex-facts, rule 20).
        "service_account": stack.names.account("pipeline"),
        "labels": _labels(stack, name),
        "runtime_config": [
            {
                "gcs_output_directory": _output_directory(stack, name),
                "failure_policy": "PIPELINE_FAILURE_POLICY_FAIL_FAST",
                "parameter_values": pipeline.parameter_values,
            }
        ],
    }
    if stack.google.cmek.enabled:
        job["encryption_spec"] = [{"kms_key_name": stack.names.key("training")}]
    return job


def _display_name(stack: Stack, name: str) -> str:
    return stack.names.prefixed(name.replace("_", "-"))


def _labels(stack: Stack, name: str) -> dict[str, str]:
    """They spread to everything that a run launches, and to the bill."""
    return {**stack.labels, "schedule": name}


def _output_directory(stack: Stack, name: str) -> str:
    return f"gs://{stack.names.bucket('staging')}/pipelines/{name}"
