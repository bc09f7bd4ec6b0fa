"""A run of a pipeline as a state machine over plain data: what has ended goes in, what starts next comes out.

It knows no service and no clock; all of it but the specification fits in JSON, so that a run outlives its server.
"""

import json
from collections import ChainMap
from collections.abc import Iterable, Mapping

from overnight.vertex_local.pipelines.condition import holds
from overnight.vertex_local.pipelines.inputs import Scope, dag_outputs, task_artifacts, task_parameters
from overnight.vertex_local.pipelines.node import FINAL, ROOT, Node, Outcome, State, imported, loop_items
from overnight.vertex_local.pipelines.spec import Component, Dag, Json, Pipeline, Retry, Task


class Run:
    """A pipeline under way."""

    def __init__(self, pipeline: Pipeline, nodes: Iterable[Node], *, fail_fast: bool, cancelled: bool = False) -> None:
        self.pipeline = pipeline
        self.nodes: dict[str, Node] = {}
        self._below: dict[str, list[Node]] = {}
        for node in nodes:
            self._add(node)
        self.fail_fast = fail_fast
        self.cancelled = cancelled

    @classmethod
    def start(
        cls,
        pipeline: Pipeline,
        parameters: Mapping[str, Json],
        artifacts: Mapping[str, list[Json]] | None = None,
        *,
        fail_fast: bool = False,
    ) -> "Run":
        """A run of which nothing has started yet."""
        root = Node(ROOT, ROOT, State.RUNNING, dict(parameters), dict(artifacts or {}))
        return cls(pipeline, [root], fail_fast=fail_fast)

    @classmethod
    def from_json(cls, pipeline: Pipeline, text: str) -> "Run":
        """A run as `to_json` has written it."""
        data = json.loads(text)
        nodes = [Node(**{**raw, "state": State(raw["state"])}) for raw in data["nodes"]]
        return cls(pipeline, nodes, fail_fast=data["fail_fast"], cancelled=data["cancelled"])

    def to_json(self) -> str:
        """Everything but the specification."""
        nodes = [vars(node) for node in self.nodes.values()]
        return json.dumps({"fail_fast": self.fail_fast, "cancelled": self.cancelled, "nodes": nodes})

    @property
    def state(self) -> State:
        """The state of the whole run."""
        return self.nodes[ROOT].state

    def component(self, node: Node) -> Component:
        """What `node` runs."""
        return self.pipeline.component(node.component)

    def running(self) -> list[Node]:
        """Containers that have started and not ended."""
        return [node for node in self.nodes.values() if self.component(node).container and node.state is State.RUNNING]

    def failed(self, *, inside: str = ROOT) -> list[Node]:
        """Failed tasks (not groups) of a group, however deep."""
        nodes = [node for node in self.nodes.values() if node.path.startswith(f"{inside}/")]
        return [node for node in nodes if node.state is State.FAILED and not self._group(node)]

    def advance(self, now: float) -> list[Node]:
        """Carry on as far as possible without waiting; the containers that start now, set to RUNNING.

        `now`: seconds on the caller's clock.
        """
        while self._carry_on_all():
            pass
        launched = [node for node in self.nodes.values() if node.state is State.PENDING and node.not_before <= now]
        for node in launched:
            node.state = State.RUNNING
        return launched

    def finish(self, path: str, outcome: Outcome, now: float) -> None:
        """Take in how the start of a container ended. A failed one that may be retried waits to start again."""
        node = self.nodes[path]
        node.state, node.error = outcome.state, outcome.error
        node.outputs, node.output_artifacts = dict(outcome.outputs), dict(outcome.output_artifacts)
        if outcome.state is State.FAILED:
            node.failures += 1
            retry = self._retry(node)
            if node.failures <= retry.count and not self.cancelled:
                node.state, node.not_before = State.PENDING, now + retry.wait(node.failures)

    def cancel(self) -> None:
        """Start nothing any more; containers that run go on until `finish`."""
        self.cancelled = True
        for node in self.nodes.values():
            if node.state is State.PENDING:
                node.state = State.CANCELLED

    def next_start(self) -> float | None:
        """When the next waiting container starts again, None where none waits."""
        return min((node.not_before for node in self.nodes.values() if node.state is State.PENDING), default=None)

    def _retry(self, node: Node) -> Retry:
        task = self._task(node)
        return task.retry if task else Retry()

    def _task(self, node: Node) -> Task | None:
        parent = self.nodes.get(node.parent)
        dag = self.component(parent).dag if parent else None
        return dag.tasks.get(node.task) if dag else None

    def _looping(self, node: Node) -> Task | None:
        """The task of a node that is a loop (not of one of its iterations), else None."""
        task = self._task(node)
        return task if task is not None and task.loop is not None else None

    def _dag(self, node: Node) -> Dag:
        dag = self.component(node).dag
        assert dag is not None
        return dag

    def _add(self, node: Node) -> None:
        self.nodes[node.path] = node
        self._below.setdefault(node.parent, []).append(node)

    def _group(self, node: Node) -> bool:
        return self.component(node).dag is not None

    def _children(self, node: Node) -> list[Node]:
        return list(self._below.get(node.path, []))

    def _carry_on_all(self) -> bool:
        changed = False
        for node in list(self.nodes.values()):
            changed |= self._carry_on(node)
        return changed

    def _carry_on(self, node: Node) -> bool:
        """Whether anything changed in a group."""
        if node.state is not State.RUNNING or not self._group(node):
            return False
        started = self._start_iterations(node) if self._looping(node) else self._start_tasks(node)
        return self._close(node) or started

    def _halted(self) -> bool:
        return self.cancelled or (self.fail_fast and bool(self.failed()))

    def _start_iterations(self, node: Node) -> bool:
        task, children = self._looping(node), self._children(node)
        if task is None or task.loop is None or self._halted():
            return False
        items = loop_items(task, node)
        under_way = sum(child.state not in FINAL for child in children)
        room = task.loop.limit - under_way if task.loop.limit else len(items)
        started = range(len(children), min(len(items), len(children) + room))
        for index in started:
            item = {task.loop.item_input: items[index]}
            self._add(Node(f"{node.path}/{index}", node.component, State.RUNNING, item))
        return len(started) > 0

    def _start_tasks(self, node: Node) -> bool:
        started = False
        for task in self._dag(node).tasks.values():
            path = f"{node.path}/{task.name}"
            upstream = [self.nodes.get(f"{node.path}/{name}") for name in task.after]
            if path in self.nodes or not all(each and each.state in FINAL for each in upstream):
                continue
            self._add(self._new_node(task, node, [each for each in upstream if each]))
            started = True
        return started

    def _new_node(self, task: Task, parent: Node, upstream: list[Node]) -> Node:
        component = self.pipeline.component(task.component)
        node = Node(f"{parent.path}/{task.name}", task.component)
        if self.cancelled:
            node.state = State.CANCELLED
        elif not task.always and (self._halted() or any(each.state is not State.SUCCEEDED for each in upstream)):
            node.state = State.NOT_TRIGGERED
        else:
            try:
                self._prepare(node, task, component, parent)
            except ValueError as error:  # ours, and JSON that is none
                node.state, node.error = State.FAILED, str(error)
        return node

    def _prepare(self, node: Node, task: Task, component: Component, parent: Node) -> None:
        def sibling(name: str) -> Node:
            return self.nodes[f"{parent.path}/{name}"]

        def final_status(name: str) -> Json:
            ended = sibling(name)
            error = {"code": 9, "message": ended.error} if ended.state is State.FAILED else {}
            return {"state": str(ended.state), "pipelineTaskName": name, "error": error}

        scope = self._scope(parent)
        node.parameters = task_parameters(task, component, scope, sibling, final_status)
        node.artifacts = task_artifacts(task, component, scope, sibling)
        if task.condition and not holds(task.condition, node.parameters):
            node.state = State.NOT_TRIGGERED
        elif component.dag:
            node.state = State.RUNNING
            if task.loop:
                loop_items(task, node)
        elif component.importer:
            node.state, node.output_artifacts = State.SUCCEEDED, imported(component, node.parameters)

    def _scope(self, group: Node) -> Scope:
        """What the tasks of a group see. An iteration adds its item to what its loop has, which may be long."""
        loop = self.nodes.get(group.parent)
        if loop is None or not self._looping(loop):
            return Scope(group.parameters, group.artifacts)
        return Scope(ChainMap(group.parameters, loop.parameters), loop.artifacts)

    def _close(self, node: Node) -> bool:
        """End a group whose parts have all ended; whether it did."""
        loop, children = self._looping(node), self._children(node)
        total = len(loop_items(loop, node)) if loop else len(self._dag(node).tasks)
        cut_short = loop is not None and self._halted() and len(children) < total
        if (len(children) < total and not cut_short) or any(child.state not in FINAL for child in children):
            return False
        states = {child.state for child in children}
        node.state = State.SUCCEEDED
        if State.FAILED in states:
            names = ", ".join(each.task for each in self.failed(inside=node.path))
            node.state = State.FAILED
            node.error = f"The DAG failed because some tasks failed. The failed tasks are: [{names}]."
        elif State.CANCELLED in states or cut_short:
            node.state = State.CANCELLED
        self._put_out(node, children)
        return True

    def _put_out(self, node: Node, children: list[Node]) -> None:
        dag = self._dag(node)
        if not self._looping(node):
            found = {child.task: child for child in children}
            node.outputs, node.output_artifacts = dag_outputs(dag, found.get)
            return
        # What the iterations put out becomes a list each (`dsl.Collected`).
        node.outputs = {
            key: [child.outputs[key] for child in children if key in child.outputs] for key in dag.output_parameters
        }
        node.output_artifacts = {
            key: [artifact for child in children for artifact in child.output_artifacts.get(key, [])]
            for key in dag.output_artifacts
        }
