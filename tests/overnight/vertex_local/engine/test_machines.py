"""Machines that are taken away or are not there, and who waits for whom."""

import time

import pytest
from google.api_core.exceptions import FailedPrecondition, NotFound

from overnight.vertex_local.engine.stockouts import Stockout

SPOT = {"strategy": "SPOT"}
NO_MACHINES = (
    "Resources are insufficient in region: europe-west4. Try a different region or use a different accelerator."
)
RESUMING = """
import os, pathlib, signal, sys, time
folder = pathlib.Path(os.environ["OVERNIGHT_GCS_ROOT"], "bucket", "checkpoints")
folder.mkdir(parents=True, exist_ok=True)
steps = sorted(int(path.name) for path in folder.iterdir())
first = steps[-1] + 1 if steps else 0
print("from", first, flush=True)
for step in range(first, 40):
    time.sleep(0.02)
    (folder / str(step)).touch()
"""


def started(client, names):
    """The jobs in the order in which they were started."""
    times = {name: event.time for name in names for event in client.files.events(name) if event.kind == "launch"}
    return sorted(names, key=times.__getitem__)


def test_a_preempted_spot_job_starts_again_and_goes_on_from_its_checkpoint(serve):
    client = serve()
    name = client.submit(RESUMING, scheduling=SPOT)
    client.until(lambda: client.bucket("bucket/checkpoints/10").exists())
    client.engine.preempt(name)
    job = client.wait(name)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert client.states(name) == ["QUEUED", "PENDING", "RUNNING", "PENDING", "RUNNING", "SUCCEEDED"]
    first, second = (int(line.split()[1]) for line in client.log(name))
    assert (first, second > 10) == (0, True)


def test_only_running_spot_jobs_can_be_preempted(shared, programs):
    name = shared.submit(programs.sleep)
    shared.wait(name, "RUNNING")
    with pytest.raises(Exception, match="does not run on Spot machines"):
        shared.engine.preempt(name)
    shared.jobs.cancel_custom_job(name=name)
    done = shared.run("pass", scheduling=SPOT).name
    with pytest.raises(Exception, match="is not running"):
        shared.engine.preempt(done)


def test_spot_jobs_are_preempted_by_a_seed_until_they_fail_for_lack_of_machines(serve, programs):
    client = serve(preemption_seed=1, preemption_mean_seconds=0.01, retry_seconds=0.0)
    job = client.run(programs.sleep, scheduling=SPOT)
    assert (job.error.code, job.error.message) == (8, NO_MACHINES)
    assert client.count(job.name, "preempted") == 7
    assert client.run("pass").state.name == "JOB_STATE_SUCCEEDED"


@pytest.mark.parametrize(
    ("times", "scheduling", "state", "met"),
    [
        (3, {}, "SUCCEEDED", 3),
        (4, {}, "FAILED", 4),
        (6, SPOT, "SUCCEEDED", 6),
        (7, SPOT, "FAILED", 7),
        (9, {"strategy": "FLEX_START"}, "SUCCEEDED", 9),
    ],
)
def test_a_stockout_is_retried_as_often_as_documented(serve, times, scheduling, state, met):
    client = serve(stockouts=(Stockout(times, "europe-west4", "n1-standard-4"),), retry_seconds=0.0)
    job = client.run("pass", scheduling=scheduling)
    assert job.state.name == f"JOB_STATE_{state}"
    assert client.count(job.name, "stockout") == met
    assert job.error.message == (NO_MACHINES if state == "FAILED" else "")


def test_a_stockout_of_other_machines_does_not_matter(serve):
    elsewhere = (
        Stockout(9, "us-central1"),
        Stockout(9, machine_type="g2-standard-4"),
        Stockout(9, "", "", "NVIDIA_L4"),
    )
    client = serve(stockouts=elsewhere)
    job = client.run("pass")
    assert client.count(job.name, "stockout") == 0


def test_a_flexible_start_waits_for_its_machines_no_longer_than_it_says(serve):
    client = serve(stockouts=(Stockout(1000),))
    scheduling = {"strategy": "FLEX_START", "max_wait_duration": {"seconds": 3600}}
    name = client.submit("pass", scheduling=scheduling)
    client.until(lambda: client.count(name, "stockout") > 1)
    client.server.world.clock.advance(3601)
    client.server.world.wake()
    job = client.wait(name)
    assert (job.state.name, job.error.message) == ("JOB_STATE_FAILED", NO_MACHINES)


def test_jobs_start_in_the_order_of_their_submission_and_nobody_overtakes(serve):
    client = serve(machine_slots=2)
    short = "import time; time.sleep(0.1)"
    names = [client.submit(short), client.submit(short, short), client.submit(short), client.submit(short)]
    for name in names:
        client.wait(name)
    assert started(client, names) == names
    events = {name: client.files.events(name) for name in names}
    ends = {name: next(e.time for e in events[name] if e.kind == "end") for name in names}
    starts = {name: next(e.time for e in events[name] if e.kind == "launch") for name in names}
    assert starts[names[1]] >= ends[names[0]]
    assert starts[names[2]] >= ends[names[1]]


def test_a_job_larger_than_the_machine_runs_alone(serve):
    client = serve(machine_slots=1)
    short = "import time; time.sleep(0.1)"
    small, large, after = client.submit(short), client.submit(short, (short, 2)), client.submit(short)
    for name in (small, large, after):
        assert client.wait(name).state.name == "JOB_STATE_SUCCEEDED"
    assert started(client, [after, large, small]) == [small, large, after]


def test_a_waiting_job_is_cancelled_at_once(serve, programs):
    client = serve(machine_slots=1)
    running, waiting = client.submit(programs.sleep), client.submit(programs.sleep)
    client.wait(running, "RUNNING")
    client.jobs.cancel_custom_job(name=waiting)
    assert client.state(waiting) == "CANCELLED"
    assert client.states(waiting) == ["QUEUED", "CANCELLED"]
    assert client.state(running) == "RUNNING"


def test_thirty_jobs_at_once_all_end_well_and_in_order(serve):
    client = serve(machine_slots=4)
    names = [client.submit(f"print({number})") for number in range(30)]
    for name in names:
        assert client.wait(name, seconds=60).state.name == "JOB_STATE_SUCCEEDED"
    assert started(client, names) == names
    assert [client.log(name) for name in names] == [[str(number)] for number in range(30)]


def test_a_third_job_waits_for_the_persistent_resource(serve, programs):
    client = serve(machine_slots=1)
    resource = _resource(client, {"replica_count": 2})
    on_it = {"persistent_resource_id": "pool"}
    hold = "import os, time\nwhile not os.path.exists(os.environ['OVERNIGHT_GCS_ROOT'] + '/go'): time.sleep(0.01)"
    first, second, third = (client.submit(hold, **on_it) for _ in range(3))
    client.wait(first, "RUNNING")
    client.wait(second, "RUNNING")
    assert client.state(third) == "QUEUED"
    assert client.resources.get_persistent_resource(name=resource).resource_pools[0].used_replica_count == 2
    with pytest.raises(FailedPrecondition, match="3 jobs run or wait on it"):
        client.resources.delete_persistent_resource(name=resource)
    client.bucket("go").parent.mkdir(exist_ok=True)
    client.bucket("go").touch()
    for name in (first, second, third):
        assert client.wait(name).state.name == "JOB_STATE_SUCCEEDED"
    client.until(
        lambda: not client.resources.get_persistent_resource(name=resource).resource_pools[0].used_replica_count
    )
    client.resources.delete_persistent_resource(name=resource).result(timeout=10)
    with pytest.raises(NotFound):
        client.resources.get_persistent_resource(name=resource)


def test_an_autoscaled_pool_grows_with_its_jobs_and_shrinks_after_them(serve, programs):
    client = serve()
    scaling = {"min_replica_count": 1, "max_replica_count": 2}
    resource = _resource(client, {"autoscaling_spec": scaling})

    def size():
        return client.resources.get_persistent_resource(name=resource).resource_pools[0].replica_count

    assert size() == 1
    names = [client.submit(programs.sleep, persistent_resource_id="pool") for _ in range(3)]
    client.wait(names[1], "RUNNING")
    assert (size(), client.state(names[2])) == (2, "QUEUED")
    for name in reversed(names):
        client.jobs.cancel_custom_job(name=name)
    client.until(lambda: size() == 1)


def test_a_reboot_interrupts_jobs_and_they_start_again(serve):
    client = serve()
    resource = _resource(client, {"replica_count": 1})
    name = client.submit(RESUMING, persistent_resource_id="pool")
    client.until(lambda: client.bucket("bucket/checkpoints/5").exists())
    client.resources.reboot_persistent_resource(name=resource).result(timeout=10)
    assert client.wait(name).state.name == "JOB_STATE_SUCCEEDED"
    assert client.count(name, "interrupted") == 1


def _resource(client, pool):
    machine = {"machine_spec": {"machine_type": "n1-standard-4"}}
    operation = client.resources.create_persistent_resource(
        parent=client.parent,
        persistent_resource_id="pool",
        persistent_resource={"resource_pools": [{**machine, **pool}]},
    )
    made = operation.result(timeout=10)
    assert made.state.name == "RUNNING"
    assert time.time() - made.start_time.timestamp() < 60
    return made.name


def test_a_job_whose_files_cannot_be_written_waits_until_they_can(serve, programs):
    client = serve(machine_slots=1)
    blocking, name = client.submit(programs.sleep), client.submit("pass")
    obstacle = client.files.folder(name).path / "launch-1"
    obstacle.touch()
    client.jobs.cancel_custom_job(name=blocking)
    client.wait(blocking)
    assert client.run("print('others run')").state.name == "JOB_STATE_SUCCEEDED"
    assert client.state(name) == "QUEUED"
    obstacle.unlink()
    assert client.wait(name).state.name == "JOB_STATE_SUCCEEDED"
