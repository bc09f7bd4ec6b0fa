"""How a pipeline job comes into being, by a client or by a schedule: checked, its template resolved, kept."""

from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf import json_format

from overnight.vertex_local.api.errors import invalid
from overnight.vertex_local.pipelines.run import Run
from overnight.vertex_local.pipelines.spec import Json, Pipeline, PipelineError, read_pipeline
from overnight.vertex_local.pipelines.values import pipeline_inputs
from overnight.vertex_local.services.templates import find_template
from overnight.vertex_local.state.resource import check_id, new_id
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.world import World

KIND = "google.cloud.aiplatform.v1.PipelineJob"
ENDED = (
    v1.PipelineState.PIPELINE_STATE_SUCCEEDED,
    v1.PipelineState.PIPELINE_STATE_FAILED,
    v1.PipelineState.PIPELINE_STATE_CANCELLED,
)
_ID = r"[a-z][-a-z0-9]{0,127}"
_OUTPUT_ONLY = ("state", "job_detail", "error", "start_time", "end_time", "template_metadata", "schedule_name")


def create_pipeline_job(world: World, parent: str, message: Any, job_id: str = "", schedule: str = "") -> Any:
    """A new job, PENDING. Raises ApiError INVALID_ARGUMENT, NOT_FOUND (its template), ALREADY_EXISTS."""
    job = check_pipeline_job(world, message)
    if job_id:
        check_id(job_id, _ID, "pipeline_job_id", f"An id must match {_ID}.")
    job.state = v1.PipelineState.PIPELINE_STATE_PENDING
    job.schedule_name = schedule
    made = world.resources.create(parent, "pipelineJobs", job, job_id or new_id())
    world.wake()
    return made


def check_pipeline_job(world: World, message: Any) -> Any:
    """A copy of the job with its specification filled in from its template. Raises ApiError."""
    job = type(message)()
    job.CopyFrom(message)
    for field in _OUTPUT_ONLY:
        job.ClearField(field)
    if not job.runtime_config.gcs_output_directory.startswith("gs://"):
        raise invalid("runtime_config.gcs_output_directory: a path that begins with gs:// is required.")
    if job.template_uri and not job.pipeline_spec.fields:
        template = find_template(world.settings.templates, job.template_uri)
        json_format.ParseDict(template.spec, job.pipeline_spec)
        job.template_metadata.version = template.version
    if not job.pipeline_spec.fields:
        raise invalid("pipeline_spec: a specification or a template_uri is required.")
    _parameters(job)
    return job


def read_job(job: Any) -> Pipeline:
    """The job's specification. Raises ApiError INVALID_ARGUMENT."""
    try:
        return read_pipeline(json_format.MessageToDict(job.pipeline_spec))
    except PipelineError as error:
        raise invalid(str(error)) from None
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise invalid(f"pipeline_spec: not what the KFP compiler writes ({error!r}).") from error


def _parameters(job: Any) -> dict[str, Json]:
    given = {name: json_format.MessageToDict(value) for name, value in job.runtime_config.parameter_values.items()}
    try:
        return pipeline_inputs(read_job(job).root.inputs, given)
    except PipelineError as error:
        raise invalid(str(error)) from None


def start_run(world: World, job: Any) -> Run:
    """The run of a job of which nothing has started."""
    store = f"{parent_of(job.name)}/metadataStores/default/artifacts"
    artifacts = {
        name: [_artifact(world.resources.get(f"{store}/{given.artifact_id}"))]
        for name, given in job.runtime_config.input_artifacts.items()
    }
    fail_fast = job.runtime_config.failure_policy == v1.PipelineFailurePolicy.PIPELINE_FAILURE_POLICY_FAIL_FAST
    return Run.start(read_job(job), _parameters(job), artifacts, fail_fast=fail_fast)


def _artifact(message: Any) -> Json:
    return {
        "name": message.name,
        "uri": message.uri,
        "type": {"schemaTitle": message.schema_title},
        "metadata": json_format.MessageToDict(message.metadata),
    }
