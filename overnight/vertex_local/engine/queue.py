"""Which job is next: first come, first served in each place, without any I/O.

A place is a region's on-demand capacity or one persistent resource. Nobody overtakes in a place: a large job at
the head waits for room, and those behind it wait too, so that it gets its room.
"""

from bisect import insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """What a job occupies while it runs: replicas by pool of a place."""

    place: str
    replicas: Mapping[str, int]


@dataclass(frozen=True)
class Room:
    """What a place has: the most replicas by pool, and how many of them are occupied."""

    most: Mapping[str, int]
    used: Mapping[str, int]
    exceeded_by_one: bool = False
    """Whether a job that is larger than the place runs alone, instead of never."""

    def takes(self, need: Need) -> bool:
        """Whether there is room for `need` now."""
        if self.exceeded_by_one and not any(self.used.values()):
            return True
        return all(
            self.used.get(pool, 0) + count <= self.most.get(pool, 0) for pool, count in need.replicas.items() if count
        )


@dataclass(frozen=True)
class Waiting:
    """A job in the queue. `order` is its number by submission, which a retried job keeps."""

    name: str
    order: int
    need: Need
    ready_at: float = 0.0
    """Until then (seconds of a steady clock) it does not ask, and lets others pass: it waits for a retry."""


class Queue:
    """The waiting jobs by place."""

    def __init__(self) -> None:
        self._lines: dict[str, list[Waiting]] = {}
        self._by_name: dict[str, Waiting] = {}

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def put(self, waiting: Waiting) -> None:
        """Add a job at its place by order of submission."""
        insort(self._lines.setdefault(waiting.need.place, []), waiting, key=lambda other: other.order)
        self._by_name[waiting.name] = waiting

    def take(self, name: str) -> Waiting | None:
        """Remove a job; None when it does not wait."""
        waiting = self._by_name.pop(name, None)
        if waiting is not None:
            line = self._lines[waiting.need.place]
            line.remove(waiting)
            if not line:
                del self._lines[waiting.need.place]
        return waiting

    def waits_in(self, place: str) -> int:
        """How many jobs wait in a place."""
        return len(self._lines.get(place, ()))

    def heads(self, now: float) -> Iterator[Waiting]:
        """The first job of each place that is ready to ask, oldest first."""
        found = (next((job for job in line if job.ready_at <= now), None) for line in self._lines.values())
        yield from sorted((job for job in found if job is not None), key=lambda job: job.order)
