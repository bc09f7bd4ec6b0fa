from hypothesis import given
from hypothesis import strategies as st

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.cores import core_shares


def names(count: int) -> list[ReplicaName]:
    return [ReplicaName(0, 0), *(ReplicaName(1, index) for index in range(count - 1))]


def test_two_replicas_halve_the_machine():
    assert list(core_shares(names(2), [0, 1, 2, 3]).values()) == [{0, 1}, {2, 3}]


@given(replicas=st.integers(1, 40), cores=st.lists(st.integers(0, 200), min_size=1, max_size=64, unique=True))
def test_every_replica_has_a_core_and_every_core_a_replica_where_there_are_enough(replicas, cores):
    shares = list(core_shares(names(replicas), cores).values())
    assert len(shares) == replicas
    assert all(share and share <= set(cores) for share in shares)
    if replicas <= len(cores):
        assert sorted(core for share in shares for core in share) == sorted(cores)
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
