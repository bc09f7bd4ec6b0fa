"""What connects artifacts, executions and contexts, and the graphs that can be asked for."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from google.cloud import aiplatform_v1 as v1

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import failed_precondition, invalid, invalid_fields
from overnight.vertex_local.state.filters import Extras, predicate
from overnight.vertex_local.state.store import parent_of
from overnight.vertex_local.world import World

# Relations in the store: context -> member, context -> child context, execution -> artifact (payload: the Event).
_MEMBER = "context member"
_CHILD = "context child"
_EVENT = "event"

MOST_PARENTS = 10
"""Parent contexts that a context can have (API reference)."""
MOST_NODES = 1000
"""Artifacts, executions or events in one answer; a larger graph is refused (API reference)."""


class Lineage:
    """Events, members and children; all of one metadata store.

    A context's ETag and update time stay as they are when it gets or loses a parent: the SDK would otherwise
    overwrite with an old ETag after it has put a run into an experiment.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._store = world.store

    def methods(self) -> Mapping[str, Handler]:
        """The methods of MetadataService that are about connections."""
        return {
            "AddExecutionEvents": self.add_events,
            "AddContextArtifactsAndExecutions": self.add_members,
            "AddContextChildren": self.add_children,
            "RemoveContextChildren": self.remove_children,
            "QueryExecutionInputsAndOutputs": self.of_execution,
            "QueryContextLineageSubgraph": self.of_context,
            "QueryArtifactLineageSubgraph": self.of_artifact,
        }

    def filter_extras(self) -> Extras:
        """`in_context("…")` and `child_contexts:"…"` for filters."""

        @cache
        def members(context: str) -> frozenset[str]:
            return frozenset(name for name, _ in self._store.linked(_MEMBER, context))

        def child_contexts(message: Any) -> list[str]:
            return [name for name, _ in self._store.linked(_CHILD, message.name)]

        return {
            "in_context": lambda message, context: message.name in members(context),
            "child_contexts": child_contexts,
        }

    def add_events(self, request: Any) -> Any:
        """Connect an execution to artifacts. A pair that is connected already stays as it is."""
        with self._store.transaction():
            self._store.get(request.execution)
            known = {artifact for artifact, _ in self._store.linked(_EVENT, request.execution)}
            for number, event in enumerate(request.events):
                self._check_event(request.execution, event, f"events[{number}]")
                if event.artifact not in known:
                    known.add(event.artifact)
                    event.execution = request.execution
                    event.event_time.CopyFrom(self._world.clock.timestamp())
                    self._store.link(_EVENT, request.execution, event.artifact, event.SerializeToString())
        return v1.AddExecutionEventsResponse.pb()()

    def add_members(self, request: Any) -> Any:
        """Put artifacts and executions into a context."""
        with self._store.transaction():
            self._store.get(request.context)
            for name in [*request.artifacts, *request.executions]:
                _same_store(request.context, name)
                self._store.get(name)
                self._store.link(_MEMBER, request.context, name)
        return v1.AddContextArtifactsAndExecutionsResponse.pb()()

    def add_children(self, request: Any) -> Any:
        """Put contexts below a context; refused for a circle, or for too many parents."""
        with self._store.transaction():
            self._store.get(request.context)
            above = self._above(request.context)
            for child in request.child_contexts:
                _same_store(request.context, child)
                if child in above:
                    raise invalid(f"{child} is {request.context} or above it: contexts cannot go in a circle.")
                self._store.update(child, _with_parent(request.context))
                self._store.link(_CHILD, request.context, child)
        return v1.AddContextChildrenResponse.pb()()

    def remove_children(self, request: Any) -> Any:
        """Take contexts away from below a context."""
        with self._store.transaction():
            self._store.get(request.context)
            for child in request.child_contexts:
                self._store.unlink(_CHILD, request.context, child)
                self._store.update(child, _without_parent(request.context))
        return v1.RemoveContextChildrenResponse.pb()()

    def leave_children(self, name: str) -> None:
        """Before a context is deleted: its children have one parent less."""
        for child, _ in self._store.linked(_CHILD, name):
            self._store.update(child, _without_parent(name))

    def of_execution(self, request: Any) -> Any:
        """An execution, its events and their artifacts."""
        self._store.get(request.execution)
        events = self._events(self._store.linked(_EVENT, request.execution))
        return self._graph([event.artifact for event in events], [request.execution], events)

    def of_context(self, request: Any) -> Any:
        """The members of a context and the events between them."""
        self._store.get(request.context)
        members = [name for name, _ in self._store.linked(_MEMBER, request.context)]
        artifacts = [name for name in members if "/artifacts/" in name]
        executions = [name for name in members if "/executions/" in name]
        inside = set(artifacts)
        events = [event for name in executions for event in self._events(self._store.linked(_EVENT, name))]
        return self._graph(artifacts, executions, [event for event in events if event.artifact in inside])

    def of_artifact(self, request: Any) -> Any:
        """What an artifact was made from and went into, up to `max_hops` events away; 0 means everything.

        (The reference tells 0, the artifact alone, from no value; the message cannot.) The filter chooses among the
        artifacts found; the one asked for is always there.
        """
        if request.max_hops < 0:
            raise invalid("max_hops must not be negative.")
        self._store.get(request.artifact)
        artifacts, executions, events = self._around(request.artifact, request.max_hops or None)
        passes = predicate(request.filter)
        chosen = [name for name in artifacts if name == request.artifact or passes(self._store.get(name))]
        inside = set(chosen)
        return self._graph(chosen, executions, [event for event in events if event.artifact in inside])

    def _around(self, artifact: str, hops: int | None) -> tuple[list[str], list[str], list[Any]]:
        """Breadth first; one hop is one event, so that an execution is one away and its other artifacts are two."""
        seen: dict[str, None] = {artifact: None}
        events: dict[bytes, Any] = {}
        edge, done = [artifact], 0
        while edge and (hops is None or done < hops):
            found: list[str] = []
            for name in edge:
                for event in self._touching(name):
                    events.setdefault(event.SerializeToString(deterministic=True), event)
                    found.append(event.artifact if "/executions/" in name else event.execution)
            edge = [name for name in dict.fromkeys(found) if name not in seen]
            seen |= dict.fromkeys(edge)
            done += 1
        artifacts = [name for name in seen if "/artifacts/" in name]
        return artifacts, [name for name in seen if "/executions/" in name], list(events.values())

    def _touching(self, name: str) -> list[Any]:
        rows = self._store.linked(_EVENT, name) if "/executions/" in name else self._store.linking(_EVENT, name)
        return self._events(rows)

    def _events(self, rows: Iterable[tuple[str, bytes]]) -> list[Any]:
        return [v1.Event.pb().FromString(payload) for _, payload in rows]

    def _graph(self, artifacts: list[str], executions: list[str], events: list[Any]) -> Any:
        for count, what in ((len(artifacts), "artifacts"), (len(executions), "executions"), (len(events), "events")):
            if count > MOST_NODES:
                raise failed_precondition(f"The graph has {count} {what}; at most {MOST_NODES} can be answered.")
        return v1.LineageSubgraph.pb()(
            artifacts=[self._store.get(name) for name in dict.fromkeys(artifacts)],
            executions=[self._store.get(name) for name in dict.fromkeys(executions)],
            events=events,
        )

    def _check_event(self, execution: str, event: Any, field: str) -> None:
        if not event.artifact:
            raise invalid_fields({f"{field}.artifact": "Required field is not set."})
        if not event.type_:
            raise invalid_fields({f"{field}.type": "Required field is not set."})
        _same_store(execution, event.artifact)
        self._store.get(event.artifact)

    def _above(self, context: str) -> set[str]:
        """A context and all contexts above it."""
        above, edge = {context}, [context]
        while edge:
            parents = [name for child in edge for name, _ in self._store.linking(_CHILD, child)]
            edge = [name for name in parents if name not in above]
            above.update(edge)
        return above


def _same_store(one: str, other: str) -> None:
    if parent_of(one) != parent_of(other):
        raise invalid(f"{other} is not in the metadata store {parent_of(one)}.")


def _with_parent(parent: str) -> Callable[[Any], None]:
    def change(child: Any) -> None:
        if parent not in child.parent_contexts:
            child.parent_contexts.append(parent)
        if len(child.parent_contexts) > MOST_PARENTS:
            raise invalid(f"{child.name} would have more than {MOST_PARENTS} parent contexts.")

    return change


def _without_parent(parent: str) -> Callable[[Any], None]:
    def change(child: Any) -> None:
        child.parent_contexts[:] = [name for name in child.parent_contexts if name != parent]

    return change
