"""The parts of a run: tasks, groups of tasks and iterations, each with its state, inputs and outputs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from overnight.vertex_local.pipelines.inputs import INPUT
from overnight.vertex_local.pipelines.spec import Component, Json, PipelineError, Task
from overnight.vertex_local.pipelines.values import as_text

ROOT = "root"


class State(StrEnum):
    """PipelineTaskDetail.State."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    NOT_TRIGGERED = "NOT_TRIGGERED"


FINAL = (State.SUCCEEDED, State.FAILED, State.CANCELLED, State.NOT_TRIGGERED)


@dataclass
class Node:
    """One task of a run, a group of tasks, or one iteration of a loop."""

    path: str
    """`root/exit-handler-1/train`; `root/for-loop-1/0/train` inside a loop."""
    component: str
    state: State = State.PENDING
    parameters: dict[str, Json] = field(default_factory=dict)
    artifacts: dict[str, list[Json]] = field(default_factory=dict)
    outputs: dict[str, Json] = field(default_factory=dict)
    output_artifacts: dict[str, list[Json]] = field(default_factory=dict)
    failures: int = 0
    not_before: float = 0.0
    """Seconds on the caller's clock: when a failed task starts again."""
    error: str = ""

    @property
    def task(self) -> str:
        """The task's name, or an iteration's index."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def parent(self) -> str:
        """The path of the group that it belongs to; empty for the root."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True)
class Outcome:
    """How one start of a container ended."""

    state: State
    error: str = ""
    outputs: Mapping[str, Json] = field(default_factory=dict)
    output_artifacts: Mapping[str, list[Json]] = field(default_factory=dict)


def loop_items(task: Task, node: Node) -> list[Json]:
    """What a loop runs over. Raises PipelineError when that is no list."""
    assert task.loop is not None
    items = json.loads(task.loop.raw_items) if task.loop.raw_items else node.parameters.get(task.loop.items_input or "")
    if not isinstance(items, list):
        raise PipelineError(f"Task {task.name} loops over something that is not a list.")
    return items


def imported(component: Component, parameters: Mapping[str, Json]) -> dict[str, list[Json]]:
    """What an importer task puts out: an artifact that exists already, under every output's name."""
    source = component.importer.get("artifactUri", {})
    uri = source.get("constant") or parameters.get(source.get("runtimeParameter", "")) or ""
    uri = INPUT.sub(lambda match: as_text(parameters.get(match[1], "")), str(uri))
    if not uri:
        raise PipelineError("The importer has no address of an artifact.")
    return {
        name: [
            {
                "name": name,
                "uri": uri,
                "type": {"schemaTitle": kind.schema},
                "metadata": component.importer.get("metadata", {}),
            }
        ]
        for name, kind in component.output_artifacts.items()
    }
