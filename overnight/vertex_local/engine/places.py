"""Where jobs run, and what they occupy there: regions' on-demand capacity, and persistent resources."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from overnight.vertex_local.api.errors import invalid, not_found
from overnight.vertex_local.engine.placement import NoSuchPool, assign, machine_replicas, most_replicas, scaled
from overnight.vertex_local.engine.queue import Need, Room
from overnight.vertex_local.state.store import Store

ON_DEMAND = "machine"
"""The one pool of a region."""


class Places:
    """Needs, rooms and occupancy. Not thread-safe: the engine's lock guards it."""

    def __init__(self, store: Store, machine_slots: int) -> None:
        self._store = store
        self._slots = machine_slots
        self._occupied: dict[str, Need] = {}

    def need(self, name: str, job: Any, place: str | None = None) -> Need:
        """What the job called `name` occupies while it runs, in `place` or where its message says.

        Raises ApiError NOT_FOUND for an unknown persistent resource, INVALID_ARGUMENT when it can never run there.
        """
        resource = persistent_resource(name, job)
        if place or not resource:
            return Need(place or _region_of(name), {ON_DEMAND: machine_replicas(job)})
        found = self._store.find(resource)
        if found is None:
            raise not_found(resource)
        try:
            return Need(resource, assign(job, found))
        except NoSuchPool as error:
            raise invalid(f"{error}.") from None

    def room(self, place: str) -> Room | None:
        """What there is in a place; None while its persistent resource does not run."""
        if not _is_resource(place):
            return Room({ON_DEMAND: self._slots}, self.used(place), exceeded_by_one=True)
        resource: Any = self._store.find(place)
        if resource is None or not _runs(resource):
            return None
        return Room({pool.id: most_replicas(pool) for pool in resource.resource_pools}, self.used(place))

    def used(self, place: str) -> Mapping[str, int]:
        """Occupied replicas by pool."""
        used: Counter[str] = Counter()
        for need in self._occupied.values():
            if need.place == place:
                used.update(need.replicas)
        return used

    def jobs_in(self, place: str) -> list[str]:
        """The names of the jobs that occupy something in a place."""
        return [name for name, need in self._occupied.items() if need.place == place]

    def occupy(self, name: str, need: Need) -> None:
        """From now on the job called `name` occupies `need`."""
        self._occupied[name] = need
        self._scale(need.place)

    def release(self, name: str) -> None:
        """The job occupies nothing any more."""
        need = self._occupied.pop(name, None)
        if need is not None:
            self._scale(need.place)

    def _scale(self, place: str) -> None:
        """Give the autoscaled pools of a persistent resource as many replicas as are needed."""
        if not _is_resource(place):
            return
        resource: Any = self._store.find(place)
        used = self.used(place)
        if resource is not None and any(
            scaled(p, used.get(p.id, 0)) != p.replica_count for p in resource.resource_pools
        ):

            def scale(kept: Any) -> None:
                for pool in kept.resource_pools:
                    pool.replica_count = scaled(pool, used.get(pool.id, 0))

            self._store.update(place, scale)


def persistent_resource(name: str, job: Any) -> str:
    """The full name of the job's persistent resource; empty when it has none."""
    resource = job.job_spec.persistent_resource_id
    return f"{_parent_of(name)}/persistentResources/{resource}" if resource else ""


def region_of(name: str) -> str:
    """`europe-west4` of a resource's name."""
    return name.split("/")[3]


def _region_of(name: str) -> str:
    return f"regions/{region_of(name)}"


def _parent_of(name: str) -> str:
    return "/".join(name.split("/")[:4])


def _is_resource(place: str) -> bool:
    return "/persistentResources/" in place


def _runs(resource: Any) -> bool:
    values = resource.DESCRIPTOR.fields_by_name["state"].enum_type.values_by_number
    return bool(values[resource.state].name == "RUNNING")
