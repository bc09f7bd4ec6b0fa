"""PersistentResourceService: machines that are kept for jobs. Here they are numbers that jobs occupy."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.cloud import aiplatform_v1 as v1
from google.protobuf.empty_pb2 import Empty

from overnight.vertex_local.api.dispatch import Handler
from overnight.vertex_local.api.errors import ApiError, failed_precondition, invalid_fields
from overnight.vertex_local.services.field_rules import refuse
from overnight.vertex_local.services.persistent_resource_rules import check_content, check_new
from overnight.vertex_local.world import World

KIND = "google.cloud.aiplatform.v1.PersistentResource"

_OUTPUT_ONLY = ("name", "state", "error", "create_time", "start_time", "update_time", "resource_runtime")
_CHANGEABLE = ("display_name", "labels", "resource_pools")
_CHANGE_NOTE = "change"


@dataclass(frozen=True)
class _Change:
    """A change of state on its way: its operation, and when (seconds since 1970) it may be over."""

    operation: str
    due: float
    delete: bool = False


class PersistentResourcesService:
    """Create, get, list, update, reboot, delete, each change a long-running operation."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._changes: dict[str, _Change] = {}

    def handlers(self) -> Mapping[str, Handler]:
        """The methods served."""
        service = "PersistentResourceService"
        return {
            f"{service}/CreatePersistentResource": self.create,
            f"{service}/GetPersistentResource": lambda request: self._seen(self._world.resources.get(request.name)),
            f"{service}/ListPersistentResources": self.list,
            f"{service}/UpdatePersistentResource": self.update,
            f"{service}/RebootPersistentResource": self.reboot,
            f"{service}/DeletePersistentResource": self.delete,
        }

    def create(self, request: Any) -> Any:
        """The resource, PROVISIONING, by an operation that is over when it is RUNNING."""
        check_new(request.persistent_resource_id, request.persistent_resource)
        made = v1.PersistentResource.pb()()
        made.CopyFrom(request.persistent_resource)
        for field in _OUTPUT_ONLY:
            made.ClearField(field)
        for index, pool in enumerate(made.resource_pools):
            pool.id = pool.id or f"pool-{index}"
            pool.used_replica_count = 0
            pool.replica_count = pool.replica_count or pool.autoscaling_spec.min_replica_count
        made.state = _number("PROVISIONING")
        kept = self._world.resources.create(request.parent, "persistentResources", made, request.persistent_resource_id)
        return self._begin(kept.name, v1.CreatePersistentResourceOperationMetadata.pb()())

    def list(self, request: Any) -> Any:
        """A page of the location's persistent resources."""
        response = self._world.resources.list(request, v1.ListPersistentResourcesResponse.pb()(), KIND)
        for resource in response.persistent_resources:
            self._seen(resource)
        return response

    def update(self, request: Any) -> Any:
        """Name, labels, and how many replicas the pools have; by an operation."""
        new = request.persistent_resource
        asked = {path.split(".")[0] for path in request.update_mask.paths}
        wrong = dict.fromkeys(asked - set(_CHANGEABLE), "This field cannot be changed.")
        if wrong or not asked:
            raise invalid_fields(wrong or {"update_mask": "Required field is not set."})
        kept = self._running(new.name)
        used = self._world.engine.used(kept.name)

        def change(resource: Any) -> None:
            if "resource_pools" in asked:
                _take_over_sizes(resource, new, used)
            if "display_name" in asked:
                resource.display_name = new.display_name
            if "labels" in asked:
                resource.labels.clear()
                resource.labels.update(new.labels)
            refuse(check_content(resource))
            resource.state = _number("UPDATING")

        self._world.resources.change(kept.name, change)
        return self._begin(kept.name, v1.UpdatePersistentResourceOperationMetadata.pb()())

    def reboot(self, request: Any) -> Any:
        """The resource, REBOOTING, by an operation; jobs on it are interrupted and start again."""
        kept = self._running(request.name)
        self._set_state(kept.name, "REBOOTING")
        self._world.engine.interrupt(kept.name)
        return self._begin(kept.name, v1.RebootPersistentResourceOperationMetadata.pb()())

    def delete(self, request: Any) -> Any:
        """Nothing, by an operation; refused while jobs run or wait on the resource."""
        kept = self._world.resources.get(request.name)
        if (problem := self._in_use(kept.name)) is not None:
            raise problem
        self._set_state(kept.name, "STOPPING")
        return self._begin(kept.name, v1.DeleteOperationMetadata.pb()(), delete=True)

    def resume(self) -> None:
        """Go on with changes that an earlier server had begun."""
        for name in self._world.store.names(KIND):
            note = self._world.store.note(name, _CHANGE_NOTE)
            if note is not None:
                self._changes[name] = _Change(**note)

    def tick(self) -> None:
        """Finish the changes that are due; a reboot waits for the jobs to be gone."""
        now = time.time()
        for name, change in list(self._changes.items()):
            if change.due <= now and not any(self._world.engine.used(name).values()):
                del self._changes[name]
                self._finish(name, change)

    def _begin(self, name: str, metadata: Any, *, delete: bool = False) -> Any:
        operation = self._world.operations.start(name, metadata)
        change = _Change(operation, time.time() + self._world.settings.provision_seconds, delete)
        self._world.store.set_note(name, _CHANGE_NOTE, vars(change))
        self._changes[name] = change
        return self._world.operations.get(operation)

    def _finish(self, name: str, change: _Change) -> None:
        if change.delete and (problem := self._in_use(name)) is not None:
            # A job was submitted between the request and its check of the state.
            self._world.operations.finish(change.operation, problem)
        elif change.delete:
            self._world.resources.delete(name)
            self._world.operations.finish(change.operation, Empty())
            return

        def run(resource: Any) -> None:
            resource.state = _number("RUNNING")
            if not resource.HasField("start_time"):
                resource.start_time.CopyFrom(self._world.clock.timestamp())

        kept = self._world.resources.change(name, run)
        self._world.store.set_note(name, _CHANGE_NOTE, None)
        self._world.operations.finish(change.operation, kept)
        self._world.wake()

    def _in_use(self, name: str) -> ApiError | None:
        jobs = self._world.engine.jobs_in(name)
        if not jobs:
            return None
        return failed_precondition(f"{name} cannot be deleted: {jobs} jobs run or wait on it; cancel them first.")

    def _running(self, name: str) -> Any:
        kept = self._world.resources.get(name)
        if kept.state != _number("RUNNING"):
            state = v1.PersistentResource.pb().State.Name(kept.state)
            raise failed_precondition(f"{name} is in state {state}; it must be RUNNING.")
        return kept

    def _set_state(self, name: str, state: str) -> None:
        self._world.resources.change(name, lambda resource: setattr(resource, "state", _number(state)))

    def _seen(self, resource: Any) -> Any:
        """The resource with what jobs occupy at this moment."""
        used = self._world.engine.used(resource.name)
        for pool in resource.resource_pools:
            pool.used_replica_count = used.get(pool.id, 0)
        return resource


def _number(state: str) -> int:
    return int(v1.PersistentResource.pb().State.Value(state))


def _take_over_sizes(resource: Any, new: Any, used: Mapping[str, int]) -> None:
    sizes = {pool.id: pool for pool in new.resource_pools}
    if sizes.keys() != {pool.id for pool in resource.resource_pools}:
        raise invalid_fields({"persistent_resource.resource_pools": "Pools cannot be added, removed or renamed."})
    for pool in resource.resource_pools:
        size = sizes[pool.id]
        if size.machine_spec != pool.machine_spec or size.disk_spec != pool.disk_spec:
            raise invalid_fields({f"persistent_resource.resource_pools[{pool.id}]": "Machines cannot be changed."})
        if size.replica_count < used.get(pool.id, 0):
            raise failed_precondition(f"{used[pool.id]} replicas of the pool {pool.id} are in use.")
        pool.replica_count = size.replica_count or size.autoscaling_spec.min_replica_count
        pool.ClearField("autoscaling_spec")
        if size.HasField("autoscaling_spec"):
            pool.autoscaling_spec.CopyFrom(size.autoscaling_spec)
