"""The machine's cores, shared out: on Vertex AI each replica is a machine of its own."""

from collections.abc import Iterable, Sequence

from overnight.vertex_local.cluster import ReplicaName


def core_shares(replicas: Iterable[ReplicaName], cores: Sequence[int]) -> dict[ReplicaName, frozenset[int]]:
    """Which of `cores` (numbers, at least one) each replica runs on.

    Neighbouring cores stay together and shares differ by one core at most; with more replicas than cores,
    a core serves several. Without this every replica would start as many threads as the machine has cores.
    """
    names = list(replicas)
    if len(names) >= len(cores):
        return {name: frozenset({cores[position % len(cores)]}) for position, name in enumerate(names)}
    bounds = [position * len(cores) // len(names) for position in range(len(names) + 1)]
    return {name: frozenset(cores[bounds[i] : bounds[i + 1]]) for i, name in enumerate(names)}
