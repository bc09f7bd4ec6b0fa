"""Who is next, without any process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.vertex_local.engine.queue import Need, Queue, Room, Waiting


def waiting(order, count=1, place="here", ready_at=0.0):
    return Waiting(f"{place}-{order}", order, Need(place, {"machine": count}), ready_at)


def room(most, used=0, lone=True):
    return Room({"machine": most}, {"machine": used}, lone)


@pytest.mark.parametrize(
    ("most", "used", "count", "takes"),
    [(2, 0, 2, True), (2, 1, 1, True), (2, 1, 2, False), (2, 2, 1, False), (2, 0, 5, True), (2, 1, 5, False)],
)
def test_a_region_takes_what_fits_and_a_job_that_never_fits_alone(most, used, count, takes):
    assert room(most, used).takes(Need("here", {"machine": count})) is takes


def test_a_persistent_resource_never_takes_more_than_it_has():
    assert not room(2, 0, lone=False).takes(Need("here", {"machine": 3}))


def test_every_pool_must_have_room():
    need = Need("here", {"gpu": 1, "cpu": 2})
    assert Room({"gpu": 1, "cpu": 2}, {}).takes(need)
    assert not Room({"gpu": 1, "cpu": 2}, {"cpu": 1}).takes(need)
    assert not Room({"gpu": 1}, {}).takes(need)


def test_the_head_of_each_place_asks_the_oldest_first():
    queue = Queue()
    for job in (waiting(4), waiting(3, place="there"), waiting(2), waiting(1, place="there")):
        queue.put(job)
    assert [job.name for job in queue.heads(0.0)] == ["there-1", "here-2"]
    assert queue.waits_in("here") == 2


def test_a_job_that_waits_for_a_retry_lets_others_pass_and_then_comes_first():
    queue = Queue()
    queue.put(waiting(1, ready_at=5.0))
    queue.put(waiting(2))
    assert [job.order for job in queue.heads(4.0)] == [2]
    assert [job.order for job in queue.heads(5.0)] == [1]


def test_a_job_can_be_taken_once():
    queue = Queue()
    queue.put(waiting(1))
    assert queue.take("here-1") == waiting(1)
    assert queue.take("here-1") is None
    assert (len(queue), "here-1" in queue, list(queue.heads(0.0))) == (0, False, [])


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from("ab")), max_size=30), st.integers(1, 3))
def test_in_every_place_jobs_start_in_the_order_of_their_submission(jobs, slots):
    queue, running, started = Queue(), [], []
    for order, (count, place) in enumerate(jobs):
        queue.put(waiting(order, count, place))
    while len(queue):
        for head in list(queue.heads(0.0)):
            used = sum(job.need.replicas["machine"] for job in running if job.need.place == head.need.place)
            if room(slots, used).takes(head.need):
                running.append(queue.take(head.name))
                started.append(head)
            elif running:
                running.pop(0)
    for place in "ab":
        assert [job.order for job in started if job.need.place == place] == [
            order for order, (_, where) in enumerate(jobs) if where == place
        ]
