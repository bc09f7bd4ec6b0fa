"""A compiled pipeline specification (KFP v2, schema version 2.1) as plain data.

Structure: `pipeline_spec.proto` of kubeflow/pipelines, as the KFP compiler 2.x writes it in JSON names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Any
"""What JSON can hold."""


class PipelineError(ValueError):
    """The specification cannot be run: one sentence."""


@dataclass(frozen=True)
class ParameterDef:
    """An input or output parameter of a component."""

    type: str
    """STRING, NUMBER_INTEGER, NUMBER_DOUBLE, BOOLEAN, LIST, STRUCT (or TASK_FINAL_STATUS)."""
    default: Json = None
    optional: bool = False


@dataclass(frozen=True)
class ArtifactDef:
    """An input or output artifact of a component, by its schema such as `system.Model`."""

    schema: str
    optional: bool = False


@dataclass(frozen=True)
class Retry:
    """How often a failed task starts again, and after how many seconds."""

    count: int = 0
    backoff: float = 0.0
    factor: float = 2.0
    longest: float = 3600.0

    def wait(self, failures: int) -> float:
        """Seconds before the start that follows the given number of failures (from 1)."""
        return min(self.backoff * self.factor ** (failures - 1), self.longest)


@dataclass(frozen=True)
class Loop:
    """A task that runs once for each item of a list (`dsl.ParallelFor`)."""

    item_input: str
    raw_items: str | None
    """A JSON list known at compile time, or None."""
    items_input: str | None
    """Else the task's input that holds the list."""
    limit: int
    """Iterations that may be under way at once; 0: all."""


@dataclass(frozen=True)
class Task:
    """One task of a DAG."""

    name: str
    component: str
    inputs: Mapping[str, Json]
    """Input parameters, as in the specification: where each comes from."""
    artifacts: Mapping[str, Json]
    after: frozenset[str]
    """Tasks of the same DAG that must have ended before."""
    condition: str | None
    always: bool
    """Runs whatever became of the tasks before it: exit handlers."""
    retry: Retry
    loop: Loop | None


@dataclass(frozen=True)
class Dag:
    """Tasks, and which of their outputs are the DAG's own."""

    tasks: Mapping[str, Task]
    output_parameters: Mapping[str, Json]
    output_artifacts: Mapping[str, Json]


@dataclass(frozen=True)
class Component:
    """What a task runs: a DAG, or an executor (a container, an importer)."""

    name: str
    inputs: Mapping[str, ParameterDef]
    input_artifacts: Mapping[str, ArtifactDef]
    outputs: Mapping[str, ParameterDef]
    output_artifacts: Mapping[str, ArtifactDef]
    dag: Dag | None
    container: Json = None
    importer: Json = None


@dataclass(frozen=True)
class Pipeline:
    """A whole specification."""

    name: str
    root: Component
    components: Mapping[str, Component]

    def component(self, name: str) -> Component:
        """The component `name`; `root` is the pipeline itself."""
        return self.root if name == "root" else self.components[name]


def read_pipeline(spec: Mapping[str, Json]) -> Pipeline:
    """Read and check a compiled specification. Raises PipelineError."""
    version = str(spec.get("schemaVersion", ""))
    if not version.startswith("2.1."):
        raise PipelineError(f"pipeline_spec.schema_version: {version!r} is not supported; it must be 2.1.0.")
    if not isinstance(spec.get("root"), Mapping) or "dag" not in spec["root"]:
        raise PipelineError("pipeline_spec.root: a DAG is required.")
    executors = spec.get("deploymentSpec", {}).get("executors", {})
    components = {name: _component(name, raw, executors) for name, raw in spec.get("components", {}).items()}
    name = spec.get("pipelineInfo", {}).get("name", "")
    if not name:
        raise PipelineError("pipeline_spec.pipeline_info.name: a name is required.")
    pipeline = Pipeline(name, _component("root", spec["root"], executors), components)
    for component in (pipeline.root, *components.values()):
        _check(component, pipeline)
    return pipeline


def _component(name: str, raw: Mapping[str, Json], executors: Mapping[str, Json]) -> Component:
    inputs, outputs = raw.get("inputDefinitions", {}), raw.get("outputDefinitions", {})
    executor = executors.get(raw.get("executorLabel", ""), {})
    known = {"container", "importer"} & set(executor)
    if "dag" not in raw and not known:
        kind = ", ".join(executor) or "nothing"
        raise PipelineError(f"pipeline_spec.components[{name}]: an executor of kind {kind} is not supported.")
    return Component(
        name=name,
        inputs=_parameters(inputs),
        input_artifacts=_artifacts(inputs),
        outputs=_parameters(outputs),
        output_artifacts=_artifacts(outputs),
        dag=_dag(raw["dag"]) if "dag" in raw else None,
        container=executor.get("container"),
        importer=executor.get("importer"),
    )


def _parameters(definitions: Mapping[str, Json]) -> dict[str, ParameterDef]:
    return {
        name: ParameterDef(raw.get("parameterType", "STRING"), raw.get("defaultValue"), bool(raw.get("isOptional")))
        for name, raw in definitions.get("parameters", {}).items()
    }


def _artifacts(definitions: Mapping[str, Json]) -> dict[str, ArtifactDef]:
    return {
        name: ArtifactDef(
            raw.get("artifactType", {}).get("schemaTitle", "system.Artifact"), bool(raw.get("isOptional"))
        )
        for name, raw in definitions.get("artifacts", {}).items()
    }


def _dag(raw: Mapping[str, Json]) -> Dag:
    outputs = raw.get("outputs", {})
    tasks = {name: _task(name, task) for name, task in raw.get("tasks", {}).items()}
    return Dag(tasks, outputs.get("parameters", {}), outputs.get("artifacts", {}))


def _task(name: str, raw: Mapping[str, Json]) -> Task:
    inputs = raw.get("inputs", {})
    parameters, artifacts = inputs.get("parameters", {}), inputs.get("artifacts", {})
    trigger = raw.get("triggerPolicy", {})
    return Task(
        name=name,
        component=raw.get("componentRef", {}).get("name", ""),
        inputs=parameters,
        artifacts=artifacts,
        after=frozenset(raw.get("dependentTasks", [])) | _producers(parameters) | _producers(artifacts),
        condition=trigger.get("condition"),
        always=trigger.get("strategy") == "ALL_UPSTREAM_TASKS_COMPLETED",
        retry=_retry(raw.get("retryPolicy", {})),
        loop=_loop(name, raw),
    )


def _producers(inputs: Mapping[str, Json]) -> frozenset[str]:
    kinds = ("taskOutputParameter", "taskOutputArtifact", "taskFinalStatus")
    return frozenset(source[kind]["producerTask"] for source in inputs.values() for kind in kinds if kind in source)


def _retry(raw: Mapping[str, Json]) -> Retry:
    def seconds(name: str, default: float) -> float:
        return float(str(raw.get(name, default)).removesuffix("s"))

    return Retry(
        count=int(raw.get("maxRetryCount", 0)),
        backoff=seconds("backoffDuration", 0.0),
        factor=float(raw.get("backoffFactor", 2.0)),
        longest=seconds("backoffMaxDuration", 3600.0),
    )


def _loop(name: str, raw: Mapping[str, Json]) -> Loop | None:
    if "artifactIterator" in raw:
        raise PipelineError(f"pipeline_spec: task {name!r} loops over artifacts, which is not supported.")
    iterator = raw.get("parameterIterator")
    if iterator is None:
        return None
    items = iterator.get("items", {})
    limit = int(raw.get("iteratorPolicy", {}).get("parallelismLimit", 0))
    return Loop(iterator["itemInput"], items.get("raw"), items.get("inputParameter"), limit)


def _check(component: Component, pipeline: Pipeline) -> None:
    tasks = component.dag.tasks if component.dag else {}
    for task in tasks.values():
        if task.component not in pipeline.components:
            raise PipelineError(f"pipeline_spec: task {task.name!r} refers to no component ({task.component!r}).")
        if task.loop and pipeline.components[task.component].dag is None:
            raise PipelineError(f"pipeline_spec: task {task.name!r} loops over something that is not a DAG.")
        for other in sorted(task.after - set(tasks)):
            raise PipelineError(f"pipeline_spec: task {task.name!r} depends on {other!r}, which is not in its DAG.")
    _refuse_cycle(tasks)


def _refuse_cycle(tasks: Mapping[str, Task]) -> None:
    left = dict(tasks)
    while left:
        ready = [name for name, task in left.items() if not task.after & set(left)]
        if not ready:
            raise PipelineError(f"pipeline_spec: tasks depend on each other in a circle: {', '.join(sorted(left))}.")
        for name in ready:
            del left[name]
