"""A run as the API shows it: PipelineJobDetail, one entry a task, with the times at which its state changed."""

from collections.abc import Callable
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf import json_format
from google.protobuf.timestamp_pb2 import Timestamp

from overnight.vertex_local.pipelines.node import FINAL, ROOT, Node, State
from overnight.vertex_local.pipelines.run import Run
from overnight.vertex_local.pipelines.spec import Component, Json

FAILED_CODE = 9
"""FAILED_PRECONDITION of google.rpc.Code, as failed tasks and pipelines show it (seen in public logs)."""

Numbers = Callable[[str], int]
"""The id of a task by its path."""


def show(job: Any, run: Run, numbers: Numbers, main_jobs: Callable[[Node], list[str]], now: Timestamp) -> None:
    """Bring `job_detail` up to date. `main_jobs`: the custom jobs of a container's starts so far, in their order."""
    known = {detail.task_id: detail for detail in job.job_detail.task_details}
    for node in run.nodes.values():
        number = numbers(node.path)
        detail = known.get(number)
        if detail is None:
            detail = job.job_detail.task_details.add(task_id=number, task_name=node.task)
            detail.create_time.CopyFrom(now)
            if node.path == ROOT:
                detail.task_name = job.name.rsplit("/", 1)[1]
            else:
                detail.parent_task_id = numbers(node.parent)
            detail.task_unique_name = node.path.removeprefix(f"{ROOT}/")
        changed = _changed(detail, node)
        if changed:
            _show_state(detail, node, now)
            _show_values(detail, node, run.component(node))
        if run.component(node).container and (changed or _starts(detail) != node.failures + 1):
            _show_jobs(detail, main_jobs(node))


def _changed(detail: Any, node: Node) -> bool:
    return bool(detail.state != _number(node.state) or (node.error and detail.error.message != node.error))


def _number(state: State) -> int:
    return int(getattr(v1.PipelineTaskDetail.State, state.value))


def _show_state(detail: Any, node: Node, now: Timestamp) -> None:
    detail.state = _number(node.state)
    status = detail.pipeline_task_status.add(state=detail.state)
    status.update_time.CopyFrom(now)
    if node.error:
        for error in (detail.error, status.error):
            error.code, error.message = FAILED_CODE, node.error
    elif detail.HasField("error"):
        detail.ClearField("error")
    if node.state in (State.RUNNING, State.SUCCEEDED) and not detail.HasField("start_time"):
        detail.start_time.CopyFrom(now)
    if node.state in FINAL:
        detail.end_time.CopyFrom(now)


def _show_values(detail: Any, node: Node, component: Component) -> None:
    execution = detail.execution
    execution.display_name = node.task
    execution.schema_title = "system.DagExecution" if component.dag else "system.ContainerExecution"
    values = {
        **{f"input:{name}": value for name, value in node.parameters.items()},
        **{f"output:{name}": value for name, value in node.outputs.items()},
    }
    execution.metadata.Clear()
    json_format.ParseDict(values, execution.metadata)
    for shown, artifacts in ((detail.inputs, node.artifacts), (detail.outputs, node.output_artifacts)):
        shown.clear()
        for name, found in artifacts.items():
            shown[name].artifacts.extend(_artifact(each) for each in found)


def _artifact(artifact: Json) -> Any:
    message = v1.Artifact.pb()(
        display_name=artifact.get("name", ""),
        uri=artifact.get("uri", ""),
        schema_title=artifact.get("type", {}).get("schemaTitle", ""),
    )
    json_format.ParseDict(artifact.get("metadata", {}), message.metadata)
    return message


def _starts(detail: Any) -> int:
    """How many starts of a container are shown."""
    container = detail.executor_detail.container_detail
    return len(container.failed_main_jobs) + bool(container.main_job)


def _show_jobs(detail: Any, jobs: list[str]) -> None:
    if jobs:
        container = detail.executor_detail.container_detail
        container.main_job = jobs[-1]
        container.failed_main_jobs[:] = jobs[:-1]
