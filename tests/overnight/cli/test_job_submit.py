"""`overnight job render … explain` as a user types them, against a local Vertex AI."""

import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from job_support import CONFIG, FALLBACKS, ROOT, SNAPSHOT, spec_file
from overnight.cli import main
from overnight.vertex_local.engine.stockouts import Stockout
from overnight.vertex_local.server import Server
from overnight.vertex_local.settings import Settings

NUMBERS = count(1)
GOLDEN = ROOT / "tests" / "overnight" / "jobs" / "golden"
QUICK = ("--interval", "0.05")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = Settings(
        project="acme-vision-prod",
        project_number="481516234207",
        in_place_restarts=0,
        job_restarts=0,
        retry_seconds=0.01,
        grace_seconds=2.0,
        stockouts=(Stockout(100, region="us-central1", machine_type="n1-standard-32"),),
    )
    with Server(tmp_path_factory.mktemp("vertex"), settings) as running:
        yield running


@pytest.fixture
def job(tmp_path, monkeypatch, capsys):
    """Runs `overnight job ARGUMENTS` in an empty folder, in this process, with config/example.yaml."""
    for name in ("OVERNIGHT_NOW", "OVERNIGHT_TENSORBOARD", "OVERNIGHT_VERTEX_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OVERNIGHT_CONFIG", str(CONFIG))
    monkeypatch.chdir(tmp_path)

    def typed(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["overnight", "job", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main.run()
        output = capsys.readouterr()
        return Done(end.value.code or 0, output.out, output.err)

    return typed


@pytest.fixture
def here(server, monkeypatch):
    """The local Vertex AI is where commands go."""
    monkeypatch.setenv("OVERNIGHT_VERTEX_ENDPOINT", server.rest_url)


def a_run() -> str:
    return f"20261130-200000-{next(NUMBERS):08x}"


def submit(job, spec: Path, run_id: str, *more: str) -> Done:
    return job("submit", str(spec), "--snapshot", SNAPSHOT, "--run-id", run_id, *more)


def without_names(text: str) -> str:
    """Output without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d[ T][\d:.]+Z?", "TIME", text)
    text = re.sub(r"customJobs/\d+", "customJobs/ID", text)
    return re.sub(r"(?:for|after) [\d.]+ s", "for SECONDS", text)


def test_render_prints_the_request_and_nothing_else(job, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = job("render", "jobs/tuning.yaml", "--snapshot", SNAPSHOT, "--now", "2026-11-30T20:00:00Z")
    assert done.code == 0
    assert done.stdout.encode() == (GOLDEN / "tuning.json").read_bytes()
    assert done.stderr.startswith(f"Snapshot {SNAPSHOT}, run 20261130-200000-")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--attempt", "1"), "overnight: --attempt: the spec has 0 fallbacks; give a smaller number.\n"),
        (("--run-id", "x"), "overnight: --run-id: 'x' is no run id; write it like 20260303-020000-0123abcd, "),
        (("--snapshot", "x"), "overnight: --snapshot: 'x' is no snapshot's name; write it like 20260303-0123456789ab."),
        (("--config", "absent.yaml"), "overnight: absent.yaml: "),
    ],
)
def test_a_mistake_is_one_sentence(arguments, sentence, job, tmp_path):
    done = job("render", str(spec_file(tmp_path)), "--snapshot", SNAPSHOT, *arguments)
    assert done.code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(sentence)
    assert done.stderr.count("\n") == 1


def test_the_latest_snapshot_is_looked_for_in_the_environments_root(job, tmp_path):
    done = job("render", str(spec_file(tmp_path)))
    assert done.code == 2
    assert "snapshot" in done.stderr


def test_a_job_from_submission_to_its_log(job, here, tmp_path):
    run = a_run()
    spec = spec_file(tmp_path, "print('hello')")
    first = submit(job, spec, run)
    assert first.code == 0
    name, watching, record = first.stdout.splitlines()
    assert name.startswith("projects/481516234207/locations/us-central1/customJobs/")
    assert watching.startswith(f"Watch it: overnight job watch {run} --config {CONFIG} --endpoint http://127.0.0.1:")
    assert json.loads(Path(record.removeprefix("Record: ")).read_text())["job"] == name
    again = submit(job, spec, run)
    assert again.stdout.splitlines()[0] == name

    watched = job("watch", run, *QUICK, "--usd-per-hour", "3600", "--prices-as-of", "2026-11-01", "--fee-included")
    assert watched.code == 0
    assert "workerpool0-0 | hello" in watched.stdout
    last = watched.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"SUCCEEDED for [\d.]+ s, about \d\.\d\d US dollars \(prices of 2026-11-01, the service's fee included\)", last
    )
    assert job("watch", name, *QUICK).code == 0

    lines = job("logs", run).stdout
    assert "workerpool0-0 | hello\n" in lines
    assert [line["text"] for line in json.loads(job("logs", run, "--lines", "1", "--json").stdout)]


def test_a_failure_is_explained(job, here, tmp_path):
    run = a_run()
    submit(job, spec_file(tmp_path, "print('CUDA out of memory. Tried to allocate 2 GiB'); raise SystemExit(1)"), run)
    watched = job("watch", run, *QUICK)
    assert watched.code == 2
    assert "The replica workerpool0-0 exited with a non-zero status of 1." in watched.stdout
    assert "out-of-gpu-memory: The batch does not fit into the accelerator's memory; lower the batch" in watched.stdout
    assert watched.stderr == ""


def test_a_job_is_cancelled(job, here, tmp_path):
    run = a_run()
    submit(job, spec_file(tmp_path, "import time; time.sleep(60)"), run)
    cancelled = job("cancel", run)
    assert cancelled.code == 0
    assert re.search(r"is (CANCELLING|CANCELLED)\n", cancelled.stdout)
    assert job("watch", run, *QUICK).code == 130


def test_ctrl_c_ends_the_watching_and_not_the_job(job, here, server, tmp_path):
    run = a_run()
    name = submit(job, spec_file(tmp_path, "import time; time.sleep(60)"), run).stdout.splitlines()[0]
    command = [sys.executable, "-m", "overnight", "job", "watch", run, *QUICK]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline().strip() == name
        watching.send_signal(signal.SIGINT)
        _, said = watching.communicate(timeout=20)
    assert watching.returncode == 130
    end = f"end it by `overnight job cancel {run}`"
    assert said == f"overnight: watching has ended, the job goes on; {end}.\n"
    assert json.loads(job("list", "--json", "--filter", f'labels.overnight-run="{run}"').stdout)[0]["ended"] is None
    job("cancel", run)


def test_a_run_without_machines_goes_on_with_its_fallback(job, here, tmp_path):
    run = a_run()
    spec = spec_file(tmp_path, "print('elsewhere')", FALLBACKS)
    spec.write_text(spec.read_text().replace("n1-standard-8", "n1-standard-32").replace("Count: 1}", "Count: 2}", 1))
    assert submit(job, spec, run).code == 0
    watched = job("watch", run, "--follow-fallbacks", *QUICK)
    assert watched.code == 0
    told = without_names(watched.stdout)
    assert told.count("projects/481516234207/locations/us-central1/customJobs/ID\n") == 2
    assert "TIME FAILED\nFAILED for SECONDS\n" in told
    assert told.endswith("TIME SUCCEEDED\nSUCCEEDED for SECONDS\n")


def test_without_following_a_stock_out_is_an_end_with_its_remedy(job, here, tmp_path):
    run = a_run()
    spec = spec_file(tmp_path, "print(1)", FALLBACKS)
    spec.write_text(spec.read_text().replace("n1-standard-8", "n1-standard-32").replace("Count: 1}", "Count: 2}", 1))
    submit(job, spec, run)
    watched = job("watch", run, *QUICK)
    assert watched.code == 2
    assert "stock-out: No zone of the region has such machines now" in watched.stdout
    retried = submit(job, spec, run)
    assert "Start 1, the spec's own machines, us-central1: Resources are insufficient in region" in retried.stderr
    assert "Start 2, fallback 1, us-central1\n" in retried.stderr


def test_jobs_are_listed_and_filtered(job, here, tmp_path):
    run = a_run()
    name = submit(job, spec_file(tmp_path), run).stdout.splitlines()[0]
    listed = json.loads(job("list", "--json", "--filter", f'labels.overnight-run="{run}"').stdout)
    assert [item["name"] for item in listed] == [name]
    assert name.rpartition("/")[2] in job("list").stdout
    assert json.loads(job("list", "--json", "--region", "europe-west4").stdout) == []


@pytest.mark.parametrize("command", ["watch", "logs", "cancel"])
def test_a_run_that_was_not_submitted_from_here_is_told(command, job, here):
    done = job(command, "20261130-200000-ffffffff")
    assert done.code == 2
    assert "was not submitted from here" in done.stderr


@pytest.mark.parametrize("command", ["watch", "logs", "cancel"])
def test_a_name_that_is_none_is_told(command, job, here):
    done = job(command, "my-job")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("overnight: 'my-job' is no job; give a run id, or projects/")


def test_fallbacks_need_the_runs_record(job, here):
    done = job("watch", "projects/p/locations/us-central1/customJobs/1", "--follow-fallbacks")
    assert "fallbacks stand in a run's record" in done.stderr


@pytest.mark.parametrize(
    "arguments", [("submit", "SPEC", "--snapshot", SNAPSHOT), ("preflight", "SPEC", "--limits"), ("list",)]
)
def test_without_credentials_a_command_says_so(arguments, job, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    spec = str(spec_file(tmp_path))
    done = job(*(spec if argument == "SPEC" else argument for argument in arguments))
    assert done.code == 2
    assert "there are no credentials" in done.stderr
    assert "gcloud auth application-default login" in done.stderr


def test_explain_knows_what_people_met(job):
    done = job("explain", "Resources are insufficient in region: us-central1.")
    assert done.code == 0
    assert done.stdout.startswith("stock-out (stockout): No zone of the region has such machines now;")
    assert "Source: openreview/openreview-expertise#401" in done.stdout


def test_explain_reads_a_log_from_standard_input(job, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("step 1\nDataLoader worker (pid 1) is killed by signal: Bus error\n"))
    done = job("explain", "-", "--json")
    assert [item["name"] for item in json.loads(done.stdout)["known"]] == ["shared-memory"]


def test_explain_says_when_it_does_not_know(job):
    done = job("explain", "all is well")
    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("overnight: nobody has met this error yet")


def test_preflight_needs_no_snapshot_and_no_credentials(job, tmp_path):
    done = job("preflight", str(spec_file(tmp_path, more=FALLBACKS)), "--json")
    assert done.code == 0
    needs = json.loads(done.stdout)["needs"]
    assert {need["verdict"] for need in needs} == {"check"}
    assert {need["metric"].rpartition("training_")[2] for need in needs} == {
        "nvidia_t4_gpus",
        "cpus",
        "nvidia_l4_gpus",
        "preemptible_nvidia_t4_gpus",
        "preemptible_cpus",
    }
