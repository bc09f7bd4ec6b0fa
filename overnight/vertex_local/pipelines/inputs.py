"""Where a task's inputs come from, and what a group of tasks puts out: constants, the DAG's inputs, other tasks."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from overnight.vertex_local.pipelines.spec import Component, Dag, Json, PipelineError, Task
from overnight.vertex_local.pipelines.values import as_text, typed

INPUT = re.compile(r"\{\{\$\.inputs\.parameters\['([^']*)'\]\}\}")
SELECTED = re.compile(r"\[(?:\"([^\"]*)\"|'([^']*)'|(\d+))\]")


@dataclass(frozen=True)
class Scope:
    """The inputs of a group of tasks, which its tasks may take for theirs."""

    parameters: Mapping[str, Json]
    artifacts: Mapping[str, list[Json]]


class Produced(Protocol):
    """What a task has put out: read only."""

    outputs: dict[str, Json]
    output_artifacts: dict[str, list[Json]]


def task_parameters(
    task: Task,
    component: Component,
    parent: Scope,
    sibling: Callable[[str], Produced],
    final_status: Callable[[str], Json],
) -> dict[str, Json]:
    """The input parameters of `task`, typed. Raises PipelineError for a required one that has no value."""
    found: dict[str, Json] = {}
    for name, source in task.inputs.items():
        value = _parameter(source, parent, sibling, final_status)
        if value is not None:
            found[name] = _selected(value, source.get("parameterExpressionSelector"))
    for name, source in task.inputs.items():
        if isinstance(source.get("runtimeValue", {}).get("constant"), str):
            found[name] = INPUT.sub(lambda match: as_text(found.get(match[1], "")), found[name])
    for name, definition in component.inputs.items():
        value = found.get(name, definition.default)
        if value is not None:
            found[name] = typed(value, definition.type)
        elif not definition.optional and not (task.loop and name == task.loop.item_input):
            raise PipelineError(f"The input parameter {name} of task {task.name} has no value.")
    return found


def _parameter(
    source: Mapping[str, Json],
    parent: Scope,
    sibling: Callable[[str], Produced],
    final_status: Callable[[str], Json],
) -> Json:
    if "componentInputParameter" in source:
        return parent.parameters.get(source["componentInputParameter"])
    if "taskOutputParameter" in source:
        output = source["taskOutputParameter"]
        return sibling(output["producerTask"]).outputs.get(output["outputParameterKey"])
    if "taskFinalStatus" in source:
        return final_status(source["taskFinalStatus"]["producerTask"])
    return source.get("runtimeValue", {}).get("constant")


def _selected(value: Json, selector: str | None) -> Json:
    """What `parseJson(string_value)["key"]` picks."""
    if selector is None:
        return value
    parsed = json.loads(value) if isinstance(value, str) else value
    try:
        for match in SELECTED.finditer(selector):
            parsed = parsed[int(match[3])] if match[3] else parsed[match[1] if match[1] is not None else match[2]]
    except (LookupError, TypeError) as error:
        raise PipelineError(f"{selector} finds nothing in {json.dumps(value)[:100]}.") from error
    return parsed


def task_artifacts(
    task: Task, component: Component, parent: Scope, sibling: Callable[[str], Produced]
) -> dict[str, list[Json]]:
    """The input artifacts of `task`: a list for each. Raises PipelineError for a required one that is missing."""
    found: dict[str, list[Json]] = {}
    for name, source in task.artifacts.items():
        if "componentInputArtifact" in source:
            artifacts = parent.artifacts.get(source["componentInputArtifact"])
        else:
            output = source["taskOutputArtifact"]
            artifacts = sibling(output["producerTask"]).output_artifacts.get(output["outputArtifactKey"])
        if artifacts is not None:
            found[name] = artifacts
    for name, definition in component.input_artifacts.items():
        if name not in found and not definition.optional:
            raise PipelineError(f"The input artifact {name} of task {task.name} is missing.")
    return found


def dag_outputs(dag: Dag, sibling: Callable[[str], Produced | None]) -> tuple[dict[str, Json], dict[str, list[Json]]]:
    """The parameters and artifacts that a DAG puts out; those of tasks that did not run are left out."""
    parameters: dict[str, Json] = {}
    for name, source in dag.output_parameters.items():
        selectors = source.get("valueFromOneof", {}).get("parameterSelectors") or [source.get("valueFromParameter", {})]
        for selector in selectors:
            producer = sibling(selector.get("producerSubtask", ""))
            key = selector.get("outputParameterKey")
            if producer is not None and key in producer.outputs:
                parameters.setdefault(name, producer.outputs[key])
    artifacts: dict[str, list[Json]] = {}
    for name, source in dag.output_artifacts.items():
        for selector in source.get("artifactSelectors", []):
            producer = sibling(selector.get("producerSubtask", ""))
            key = selector.get("outputArtifactKey")
            if producer is not None and key in producer.output_artifacts:
                artifacts.setdefault(name, producer.output_artifacts[key])
    return parameters, artifacts
