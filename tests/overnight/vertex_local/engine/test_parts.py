"""Plans, paths, verdicts, log entries: the engine's smaller parts."""

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from google.cloud import aiplatform_v1 as v1
from google.protobuf import json_format

from overnight.vertex_local.cluster import PRIMARY, ReplicaName
from overnight.vertex_local.command import Command
from overnight.vertex_local.engine.events import History
from overnight.vertex_local.engine.folder import JobFolder
from overnight.vertex_local.engine.log_entries import LogPump, read_entries
from overnight.vertex_local.engine.paths import localised
from overnight.vertex_local.engine.plan import Plan, mark, parse_plan, plan_json, with_addresses
from overnight.vertex_local.engine.retries import RetryPolicy
from overnight.vertex_local.engine.verdicts import end_of, longest_wait
from overnight.vertex_local.job import JobState

WORKER = ReplicaName(1, 10)


def spec(**scheduling):
    return json_format.ParseDict({"jobSpec": {"scheduling": scheduling}}, v1.CustomJob.pb()())


def test_a_plan_survives_its_json():
    commands = {PRIMARY: Command(("a", "ü"), {"X": "1"}), WORKER: Command(("b",), {})}
    plan = Plan(
        launch=2,
        commands=commands,
        token="t",
        timeout=5.0,
        grace=1.5,
        preempt_after=0.5,
        policy=RetryPolicy(1, 2, together=True),
    )
    assert parse_plan(plan_json(plan)) == plan


def test_addresses_take_the_place_of_their_marks_wherever_they_stand():
    other = ReplicaName(1, 1)
    text = f"first={mark('t', PRIMARY)} worker={mark('t', WORKER)} other={mark('t', other)}"
    plan = Plan(launch=1, commands={PRIMARY: Command((text,), {"SPEC": text})}, token="t", timeout=1.0, grace=1.0)
    filled = with_addresses(plan, {PRIMARY: "h:1", other: "h:2", WORKER: "h:3"})[PRIMARY]
    assert filled.arguments == ("first=h:1 worker=h:3 other=h:2",)
    assert filled.environment == {"SPEC": "first=h:1 worker=h:3 other=h:2"}


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("gs://bucket/x", "/buckets/bucket/x"),
        ("/gcs/bucket/x", "/buckets/bucket/x"),
        ("--out=gs://bucket", "--out=/buckets/bucket"),
        ("-o=/gcs/bucket", "-o=/buckets/bucket"),
        ("/gcs", "/gcs"),
        ("see gs://bucket", "see gs://bucket"),
        ("--text=a=gs://bucket", "--text=a=gs://bucket"),
        ("gs://", "gs://"),
    ],
)
def test_a_whole_value_that_names_a_bucket_becomes_a_folder(text, local):
    assert localised(Path("/buckets"), text) == local


@pytest.mark.parametrize(
    ("history", "scheduling", "state"),
    [
        (History(stockouts=3), {}, None),
        (History(stockouts=4), {}, JobState.FAILED),
        (History(stockouts=3, preemptions=3), {"strategy": "SPOT"}, None),
        (History(stockouts=3, preemptions=4), {"strategy": "SPOT"}, JobState.FAILED),
        (History(stockouts=99), {"strategy": "FLEX_START"}, None),
        (History(losses=2), {}, None),
        (History(losses=3), {}, JobState.FAILED),
        (History(losses=3), {"strategy": "FLEX_START"}, JobState.FAILED),
        (History(losses=1), {"disableRetries": True}, JobState.FAILED),
        (History(state=JobState.CANCELLING), {}, JobState.CANCELLED),
    ],
)
def test_a_job_goes_back_to_the_queue_as_often_as_documented(history, scheduling, state):
    end = end_of(history, spec(**scheduling), "r")
    assert (end.state if end else None) == state


@pytest.mark.parametrize(
    ("scheduling", "wait"),
    [
        ({}, None),
        ({"strategy": "FLEX_START"}, timedelta(hours=24)),
        ({"strategy": "FLEX_START", "maxWaitDuration": "0s"}, None),
        ({"strategy": "FLEX_START", "maxWaitDuration": "60s"}, timedelta(minutes=1)),
    ],
)
def test_only_a_flexible_start_gives_up_waiting(scheduling, wait):
    assert longest_wait(spec(**scheduling)) == wait


def test_a_pump_takes_up_what_a_killed_one_left_and_cuts_endless_lines(tmp_path):
    folder = JobFolder(tmp_path)
    folder.output(PRIMARY).parent.mkdir()
    folder.output(PRIMARY).write_text("one\nunfin")
    assert LogPump(folder, [PRIMARY]).carry()
    with folder.output(PRIMARY).open("a") as output:
        output.write("ished\n" + "x" * 600_000)
    LogPump(folder, [PRIMARY]).drain()
    messages = [entry.message for entry in read_entries(folder.log).entries]
    assert messages[:2] == ["one", "unfinished"]
    assert "".join(messages[2:]) == "x" * 600_000
    assert max(map(len, messages)) < 2 * 256 * 1024


def test_entries_come_in_pages(tmp_path):
    folder = JobFolder(tmp_path)
    folder.output(PRIMARY).parent.mkdir()
    folder.output(PRIMARY).write_text("".join(f"{number}\n" for number in range(1000)))
    LogPump(folder, [PRIMARY]).drain()
    found, after = [], 0
    while entries := (page := read_entries(folder.log, after, limit=5000)).entries:
        found += [int(entry.message) for entry in entries]
        after = page.next
    assert found == list(range(1000))


def test_the_job_process_needs_the_standard_library_only():
    program = (
        "import sys, overnight.vertex_local.engine.job_process; print(*{name.split('.')[0] for name in sys.modules})"
    )
    root = Path(__file__).parents[4]
    run = subprocess.run(
        [sys.executable, "-S", "-c", program], env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=True
    )
    assert set(run.stdout.split()) - sys.stdlib_module_names == {"__main__", "overnight"}
