"""Jobs as real processes: small Python programs stand for training."""

import itertools
import json
import os

import pytest

from overnight.vertex_local.cluster import JobIdentity
from overnight.vertex_local.command import NotLocal
from overnight.vertex_local.job import LogLine
from overnight.vertex_local.runner import run_job

IDENTITY = JobIdentity("123456789012", "42")
SLEEP = "import time; time.sleep(60)"
RESTART = {"restartJobOnWorkerRestart": True}


def test_a_job_goes_through_its_states_and_succeeds(job, recorder):
    end = recorder.run(job(("print('trained')", 1)))
    assert recorder.states == ["QUEUED", "PENDING", "RUNNING", "SUCCEEDED"]
    assert end.verdict == "The primary replica ended well."
    assert recorder.lines() == ["trained"]


def test_the_primarys_end_stops_the_others(job, recorder, gone):
    end = recorder.run(job(("import time; time.sleep(0.3)", 1), (f"import os; print(os.getpid()); {SLEEP}", 2)))
    assert end.state == "SUCCEEDED"
    assert end.seconds < 20
    for index in range(2):
        assert gone(int(recorder.lines(f"workerpool1-{index}")[0]))


def test_a_worker_may_end_before_the_primary(job, recorder):
    end = recorder.run(job(("import time; time.sleep(0.5); print('last')", 1), ("pass", 2)))
    assert end.state == "SUCCEEDED"
    assert recorder.lines() == ["last"]


def test_every_replica_receives_its_place_and_a_port_of_its_own(job, recorder, tmp_path):
    program = """
import json, os, socket, pathlib
spec = json.loads(os.environ['CLUSTER_SPEC'])
task = spec['task']
host, port = spec['cluster'][task['type']][task['index']].split(':')
socket.create_server((host, int(port)))
folder = pathlib.Path(os.environ['AIP_MODEL_DIR'])
folder.mkdir(parents=True, exist_ok=True)
(folder / f"{task['type']}-{task['index']}").write_text(json.dumps([spec, json.loads(os.environ['TF_CONFIG'])]))
expected = sum(len(hosts) for hosts in spec['cluster'].values())
import time
while len(list(folder.iterdir())) < expected:
    time.sleep(0.01)
"""
    end = recorder.run(job((program, 1), (program, 2), None, (program, 1), base=str(tmp_path / "out")))
    assert end.state == "SUCCEEDED", end
    told = {path.name: json.loads(path.read_text()) for path in (tmp_path / "out" / "model").iterdir()}
    assert set(told) == {"workerpool0-0", "workerpool1-0", "workerpool1-1", "workerpool3-0"}
    hosts = [host for pool in told["workerpool0-0"][0]["cluster"].values() for host in pool]
    assert len(set(hosts)) == 4
    assert told["workerpool1-1"][1]["task"] == {"type": "worker", "index": 1}


def test_arguments_are_expanded_from_the_environment(job, recorder, tmp_path):
    program = "import sys; print(sys.argv[1:])"
    recorder.run(job((program, 1), base=str(tmp_path), arguments=("--out=$(AIP_MODEL_DIR)", "$$(HOME)", "$(NONE)")))
    assert recorder.lines() == [str([f"--out={tmp_path}/model/", "$(HOME)", "$(NONE)"])]


def test_a_failing_replica_ends_the_job_and_is_named(job, recorder):
    end = recorder.run(job((SLEEP, 1), ("print('reading'); raise ValueError('no such class')", 1)))
    assert recorder.states == ["QUEUED", "PENDING", "RUNNING", "FAILED"]
    assert end.verdict == "Replica workerpool1-0 ended with code 1."
    assert end.log_tail[0] == "reading"
    assert end.log_tail[-1] == "ValueError: no such class"
    assert end.restarts == 0


def test_a_replica_that_was_killed_is_told_by_the_signals_name(job, recorder):
    end = recorder.run(job(("import os; os.kill(os.getpid(), 9)", 1)))
    assert end.verdict == "Replica workerpool0-0 ended with signal SIGKILL."


def test_a_launcher_that_reports_a_killed_process_is_understood(job, recorder):
    end = recorder.run(job(("raise SystemExit(137)", 1)))
    assert end.verdict == "Replica workerpool0-0 ended with code 137 (signal SIGKILL)."


def test_replicas_share_the_cores_out(job, recorder, tmp_path):
    program = """
import os, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
print(len(os.sched_getaffinity(0)))
(folder / str(os.getpid())).touch()
while len(list(folder.iterdir())) < 2:
    time.sleep(0.01)
"""
    folder = tmp_path / "here"
    folder.mkdir()
    recorder.run(job((program, 1), (program, 1), arguments=(str(folder),)))
    shares = [int(recorder.lines(name)[0]) for name in ("workerpool0-0", "workerpool1-0")]
    assert sum(shares) == max(2, len(os.sched_getaffinity(0)))


def test_the_whole_job_starts_again_and_goes_on(job, recorder, tmp_path):
    mark = tmp_path / "tried"
    program = f"""
import pathlib, sys
mark = pathlib.Path({str(mark)!r})
print(mark.exists())
if not mark.exists():
    mark.touch()
    sys.exit(1)
"""
    end = recorder.run(job((program, 1), (SLEEP, 1), scheduling=RESTART))
    assert end.state == "SUCCEEDED"
    assert end.restarts == 1
    assert end.verdict == "The primary replica ended well after 1 restart."
    assert recorder.lines() == ["False", "True"]
    assert recorder.states.count("RUNNING") == 2


def test_after_three_restarts_the_job_fails(job, recorder):
    end = recorder.run(job(("print('try'); raise SystemExit(3)", 1), scheduling=RESTART))
    assert end.restarts == 3
    assert recorder.lines() == ["try"] * 4
    assert end.verdict == "Replica workerpool0-0 ended with code 3 after 3 restarts."


@pytest.mark.parametrize("scheduling", [{}, {"disableRetries": True}, {"disableRetries": True, **RESTART}])
def test_without_leave_to_restart_the_first_failure_is_the_last(scheduling, job, recorder):
    end = recorder.run(job(("print('try'); raise SystemExit(3)", 1), scheduling=scheduling))
    assert (end.state, end.restarts) == ("FAILED", 0)
    assert recorder.lines() == ["try"]


def test_a_users_error_is_not_tried_again(job, recorder):
    end = recorder.run(job(("print('unknown preset'); raise SystemExit(2)", 1), scheduling=RESTART))
    assert (end.restarts, end.log_tail) == (0, ("unknown preset",))


def test_a_command_that_is_not_there_is_not_tried_again(job, recorder):
    message = job(("pass", 1), scheduling=RESTART)
    message.job_spec.worker_pool_specs[0].container_spec.command[0] = "no-such-program"
    end = recorder.run(message)
    assert end.verdict == "The command of replica workerpool0-0 could not be started."
    assert end.log_tail == ("no-such-program: cannot be started: No such file or directory",)
    assert end.restarts == 0


def test_a_job_that_only_an_image_could_run_starts_nothing(job, recorder):
    message = job((SLEEP, 1), ("pass", 1))
    message.job_spec.worker_pool_specs[1].container_spec.ClearField("command")
    with pytest.raises(NotLocal):
        recorder.run(message)
    assert not recorder.logs.exists()


def test_the_timeout_ends_the_job(job, recorder):
    end = recorder.run(job((SLEEP, 1), scheduling={"timeout": "0.5s", **RESTART}))
    assert end.state == "FAILED"
    assert end.verdict == "The job ran longer than its timeout of 0.5 seconds."
    assert end.restarts == 0


def test_a_cancelled_job_gets_sigterm_and_time_to_save(job, recorder):
    program = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print('saved'), sys.exit(0)))
print('ready')
time.sleep(60)
"""
    end = recorder.run(job((program, 1), (program, 1)), cancels=lambda: int(recorder.count("ready") == 2))
    assert end.state == "CANCELLED"
    assert recorder.states[-2:] == ["CANCELLING", "CANCELLED"]
    assert recorder.lines()[-1] == "saved"


def test_a_replica_that_ignores_sigterm_is_killed_after_the_grace(job, recorder, gone):
    program = f"import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid()); {SLEEP}"
    end = recorder.run(job((program, 1)), cancels=lambda: int(bool(recorder.lines())), grace=0.5)
    assert end.state == "CANCELLED"
    assert gone(int(recorder.lines()[0]))


def test_the_second_request_to_stop_does_not_wait(job, recorder):
    program = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready'); {SLEEP}"
    looks = itertools.count()

    def cancels() -> int:
        return 1 + (next(looks) > 10) if recorder.count("ready") else 0

    end = recorder.run(job((program, 1)), cancels=cancels, grace=60.0)
    assert end.state == "CANCELLED"
    assert end.seconds < 20


def test_what_a_replica_left_behind_ends_with_it(job, recorder, gone):
    program = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}]).pid)"
    end = recorder.run(job((program, 1)))
    assert end.state == "SUCCEEDED"
    assert gone(int(recorder.lines()[0]))


def test_an_error_of_the_listener_leaves_no_process(job, recorder, gone):
    pids = []

    def listener(event):
        if isinstance(event, LogLine):
            pids.append(int(event.text))
            raise BrokenPipeError("the terminal is gone")

    with pytest.raises(BrokenPipeError):
        run_job(job((f"import os; print(os.getpid()); {SLEEP}", 1)), IDENTITY, recorder.logs, listener, lambda: 0)
    assert gone(pids[0])


def test_logs_hold_everything_also_what_has_no_line_break(job, recorder):
    recorder.run(job(("import sys; sys.stdout.write('out\\n'); sys.stdout.flush(); sys.stderr.write('err')", 1)))
    assert (recorder.logs / "workerpool0-0.log").read_text() == "out\nerr"
    assert recorder.lines() == ["out", "err"]


def test_bytes_that_are_no_text_do_not_stop_the_log(job, recorder):
    recorder.run(job(("import os; os.write(1, b'caf\\xe9 \\xff\\n')", 1)))
    assert recorder.lines() == ["caf\ufffd \ufffd"]


def test_a_replica_reads_nothing_from_the_terminal(job, recorder):
    recorder.run(job(("import sys; print(repr(sys.stdin.read()))", 1)))
    assert recorder.lines() == ["''"]


def test_the_terminals_signals_reach_the_runner_alone(job, recorder):
    recorder.run(job(("import os; print(os.getpgid(0) == os.getpid())", 1)))
    assert recorder.lines() == ["True"]
