"""Jobs through the server, as a client sees them."""

import json

import pytest


def test_a_job_goes_through_its_states_and_has_its_times(shared):
    job = shared.run("print('trained')")
    assert shared.states(job.name) == ["QUEUED", "PENDING", "RUNNING", "SUCCEEDED"]
    assert job.create_time <= job.start_time <= job.end_time <= job.update_time
    assert not job.error.message
    assert shared.log(job.name) == ["trained"]


def test_a_job_receives_what_vertex_ai_sets_and_nothing_else_of_this_machine(shared, programs, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THIS_MACHINE", "1")
    job = shared.run(programs.environment, base_output_directory={"output_uri_prefix": "gs://bucket/run"})
    told = shared.said(job.name)
    number, job_id = job.name.split("/")[1], job.name.split("/")[-1]
    assert (told["CLOUD_ML_PROJECT_ID"], told["CLOUD_ML_JOB_ID"]) == (number, job_id)
    assert told["AIP_MODEL_DIR"] == "gs://bucket/run/model/"
    assert told["AIP_CHECKPOINT_DIR"] == "gs://bucket/run/checkpoints/"
    assert told["AIP_TENSORBOARD_LOG_DIR"] == "gs://bucket/run/logs/"
    assert told["OVERNIGHT_GCS_ROOT"] == str(shared.bucket(""))
    assert "TF_CONFIG" not in told
    assert "SECRET_OF_THIS_MACHINE" not in told
    spec = json.loads(told["CLUSTER_SPEC"])
    assert spec["task"] == {"type": "workerpool0", "index": 0}
    assert json.loads(spec["job"])["baseOutputDirectory"] == {"outputUriPrefix": "gs://bucket/run"}
    assert shared.bucket("bucket/run").is_dir()


def test_whoever_submits_a_job_may_add_variables_and_a_trial(shared, programs):
    parent = "projects/1/locations/europe-west4"
    message = shared.job(shared.run("pass").name)._pb
    copy = type(message)()
    copy.job_spec.CopyFrom(message.job_spec)
    copy.job_spec.worker_pool_specs[0].container_spec.command[2] = programs.environment
    name = f"{parent}/customJobs/77"
    shared.engine.submit(name, copy, environment={"CLOUD_ML_TRIAL_ID": "3"}, trial="3")
    shared.wait(name)
    told = shared.said(name)
    assert told["CLOUD_ML_TRIAL_ID"] == "3"
    assert json.loads(told["CLUSTER_SPEC"])["task"] == {"type": "workerpool0", "index": 0, "trial": "3"}


def test_replicas_talk_over_the_addresses_of_the_cluster(shared):
    program = """
import json, os, socket
spec = json.loads(os.environ["CLUSTER_SPEC"])
host, port = spec["cluster"]["workerpool0"][0].split(":")
if spec["task"]["type"] == "workerpool0":
    with socket.create_server((host, int(port))) as server:
        connection, _ = server.accept()
        print(connection.recv(100).decode())
else:
    while True:
        try:
            connection = socket.create_connection((host, int(port)))
            break
        except ConnectionRefusedError:
            pass
    connection.sendall(json.loads(os.environ["TF_CONFIG"])["task"]["type"].encode())
"""
    job = shared.run(program, (program, 1))
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    assert shared.log(job.name) == ["worker"]


def test_each_replica_works_in_an_empty_folder_of_its_own(shared):
    program = "import os; print(os.listdir()); open('mine', 'w').close(); print(os.getcwd())"
    job = shared.run(program + "; import time; time.sleep(0.3)", (program, 1))
    first, second = shared.log(job.name), shared.log(job.name, "workerpool1-0")
    assert first[0] == second[0] == "[]"
    assert first[1] != second[1]


def test_log_entries_have_the_severity_of_their_stream_and_can_be_followed(shared):
    program = "import sys; print('out'); print('err', file=sys.stderr); sys.stdout.write('unfinished')"
    name = shared.run(program).name
    page = shared.files.read_log(name)
    replica = {(e.severity, e.message) for e in page.entries if e.replica == "workerpool0-0"}
    assert replica == {("INFO", "out"), ("ERROR", "err"), ("INFO", "unfinished")}
    assert page.entries[-1].replica == "service"
    assert shared.files.read_log(name, page.next).entries == ()


@pytest.mark.parametrize(("pools", "replica"), [((0, 1), "workerpool1-0"), ((1, 0), "workerpool0-0")])
def test_a_failing_replica_is_restarted_in_place_then_the_job_is_then_both_are_given_up(
    serve, programs, pools, replica
):
    client = serve(in_place_restarts=2, job_restarts=1)
    bad, good = "raise SystemExit(2)", programs.sleep
    job = client.run(*(bad if fails else good for fails in pools))
    assert job.state.name == "JOB_STATE_FAILED"
    says = f"The replica {replica} exited with a non-zero status of 2. Termination reason: Error."
    assert (job.error.code, job.error.message) == (3, says)
    events = client.files.events(job.name)
    assert sum(event.kind == "exit" and event.replica == replica for event in events) == (2 + 1) * (1 + 1)
    assert sum(event.kind == "restart" and event.replica == "" for event in events) == 1


def test_by_default_a_replica_is_restarted_five_times_and_the_job_three_times(shared):
    job = shared.run("raise SystemExit(1)")
    assert shared.count(job.name, "exit") == (5 + 1) * (3 + 1)
    assert job.state.name == "JOB_STATE_FAILED"


def test_a_worker_that_is_restarted_in_place_keeps_its_address_and_its_folder(shared):
    program = """
import json, os, pathlib, sys
spec = json.loads(os.environ["CLUSTER_SPEC"])
print(spec["cluster"]["workerpool0"][0], flush=True)
mark = pathlib.Path("tried")
if not mark.exists():
    mark.touch()
    sys.exit(1)
"""
    job = shared.run(program)
    first, second = shared.log(job.name)
    assert first == second
    assert (job.state.name, shared.count(job.name, "restart")) == ("JOB_STATE_SUCCEEDED", 1)


def test_restart_job_on_worker_restart_restarts_the_whole_job_with_new_folders(shared):
    program = """
import os, pathlib, sys
print(os.listdir(), flush=True)
pathlib.Path("local").touch()
mark = pathlib.Path(os.environ["OVERNIGHT_GCS_ROOT"], "bucket", sys.argv[1])
mark.parent.mkdir(exist_ok=True)
if not mark.exists():
    mark.touch()
    sys.exit(1)
"""
    scheduling = {"restart_job_on_worker_restart": True}
    job = shared.run(program, scheduling=scheduling, args=["restarted-together"])
    assert shared.log(job.name) == ["[]", "[]"]
    assert shared.states(job.name) == ["QUEUED", "PENDING", "RUNNING", "PENDING", "RUNNING", "SUCCEEDED"]


@pytest.mark.parametrize(
    ("program", "text"),
    [
        (
            "raise SystemExit(137)",
            "The replica workerpool0-0 ran out of memory and exited with a non-zero status of 137.",
        ),
        ("import os; os.kill(os.getpid(), 9)", "ran out of memory and exited with a non-zero status of 137."),
    ],
)
def test_out_of_memory_is_final(shared, program, text):
    job = shared.run(program)
    assert shared.count(job.name, "exit") == 1
    assert job.error.message.endswith(text)


def test_disable_retries_means_one_attempt(shared):
    job = shared.run("raise SystemExit(1)", scheduling={"disable_retries": True})
    assert shared.count(job.name, "exit") == 1


def test_a_command_that_is_not_there_fails_the_job(shared):
    job = shared.run("", command=["no-such-program"], scheduling={"disable_retries": True})
    assert job.error.message.startswith("The replica workerpool0-0 exited with a non-zero status of 127.")
    assert shared.log(job.name) == ["no-such-program: cannot be started: No such file or directory"]


def test_a_container_that_needs_its_image_fails_with_the_remedy(shared, custom_job):
    message = custom_job("")
    message["job_spec"]["worker_pool_specs"][0]["container_spec"] = {"image_uri": "i"}
    name = shared.jobs.create_custom_job(parent=shared.parent, custom_job=message).name
    assert "write the command" in shared.wait(name).error.message


def test_a_cancelled_job_may_save_first(shared):
    program = """
import signal, sys, time
def save(*_):
    print("saved")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
time.sleep(60)
"""
    name = shared.submit(program)
    shared.until(lambda: shared.log(name) == ["ready"])
    shared.jobs.cancel_custom_job(name=name)
    assert shared.state(name) in ("CANCELLING", "CANCELLED")
    job = shared.wait(name)
    assert shared.states(name)[-2:] == ["CANCELLING", "CANCELLED"]
    assert job.error.code == 1
    assert shared.log(name) == ["ready", "saved"]
    shared.jobs.cancel_custom_job(name=name)
    assert shared.state(name) == "CANCELLED"


def test_a_job_that_ignores_sigterm_is_killed_after_the_grace(serve):
    client = serve(grace_seconds=0.2)
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    name = client.submit(program)
    client.until(lambda: client.log(name))
    client.jobs.cancel_custom_job(name=name)
    client.wait(name, "CANCELLED", seconds=5)
    assert [event.code for event in client.files.events(name) if event.kind == "exit"] == [-9]


def test_a_timeout_fails_the_job(shared, programs):
    job = shared.run(programs.sleep, scheduling={"timeout": {"seconds": 1}})
    assert (job.state.name, job.error.code) == ("JOB_STATE_FAILED", 4)
    assert "timeout of 1 seconds" in job.error.message
    assert (job.end_time - job.start_time).total_seconds() < 5


def test_a_web_shell_is_named_while_the_job_runs(shared, programs):
    name = shared.submit(programs.sleep, (programs.sleep, 1), enable_web_access=True)
    job = shared.wait(name, "RUNNING")
    assert sorted(job.web_access_uris) == ["workerpool0-0", "workerpool1-0"]
    shared.jobs.cancel_custom_job(name=name)
    assert not shared.wait(name).web_access_uris


def test_reducers_sleep_and_the_job_ends_without_them(shared, custom_job):
    worker = "import json, os; print(json.dumps(json.loads(os.environ['CLUSTER_SPEC'])['cluster']))"
    image = "us-docker.pkg.dev/vertex-ai-restricted/training/reductionserver:latest"
    message = custom_job(worker, None, ("", 3))
    message["job_spec"]["worker_pool_specs"][2]["container_spec"] = {"image_uri": image}
    name = shared.jobs.create_custom_job(parent=shared.parent, custom_job=message).name
    assert shared.wait(name).state.name == "JOB_STATE_SUCCEEDED"
    assert len(shared.said(name)["workerpool2"]) == 3


def test_local_paths_stand_in_for_buckets_where_the_server_is_told_so(serve):
    client = serve(paths="local")
    program = """
import os, pathlib, sys
folder = pathlib.Path(os.environ["AIP_MODEL_DIR"])
folder.mkdir()
(folder / "model").write_text(" ".join(sys.argv[1:]))
"""
    base = {"output_uri_prefix": "gs://bucket/run"}
    job = client.run(program, base_output_directory=base, args=["--data=gs://data/x", "/gcs/data/y", "/gcs-like"])
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    root = client.bucket("")
    assert client.bucket("bucket/run/model/model").read_text() == f"--data={root}/data/x {root}/data/y /gcs-like"


def test_when_a_job_started_does_not_change_when_the_clock_is_moved(serve, programs):
    client = serve()
    name = client.submit(programs.sleep)
    started = client.wait(name, "RUNNING").start_time
    client.server.world.clock.advance(3600)
    client.jobs.cancel_custom_job(name=name)
    job = client.wait(name)
    assert job.start_time == started
    assert (job.end_time - started).total_seconds() >= 3600
