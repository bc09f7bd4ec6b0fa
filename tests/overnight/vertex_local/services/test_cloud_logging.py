"""What programs that follow logs ask of `entries:list`, such as `gcloud ai custom-jobs stream-logs`."""

import json
import urllib.request

import pytest

STAMPS = ("2026-11-30T20:00:00.000001Z", "2026-11-30T20:00:00.000001Z", "2026-11-30T20:00:00.000002Z")
JOB = 'resource.type="ml_job" AND resource.labels.job_id="7"'


@pytest.fixture
def listed(server):
    """Asks for the entries of job 7, which has three: two of them of the same moment; returns their messages."""
    folder = server.folder / "jobs" / "us-central1" / "7"
    folder.mkdir(parents=True)
    entries = [
        {"timestamp": stamp, "severity": "INFO", "replica": "workerpool0-0", "message": str(number)}
        for number, stamp in enumerate(STAMPS)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))

    def ask(wanted):
        body = json.dumps({"filter": wanted}).encode()
        request = urllib.request.Request(
            f"{server.rest_url}/v2/entries:list", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return [entry["jsonPayload"]["message"] for entry in json.load(answer)["entries"]]

    return ask


@pytest.mark.parametrize(
    ("more", "messages"),
    [
        ('timestamp>="1970-01-01T01:00:00.000000000Z"', "012"),
        ('timestamp<"2026-11-30T20:00:00.000002+00:00"', "01"),
        ('timestamp<"2026-11-30T21:00:00.000002+01:00"', "01"),
        ('((timestamp="{0}" AND insertId>"7-000000000") OR timestamp>"{0}")', "12"),
        ('((timestamp="{0}" AND insertId>"7-000000001") OR timestamp>"{0}")', "2"),
        ('resource.labels.task_name="workerpool1-0"', ""),
        ('severity>="INFO"', "012"),
        ("severity > DEBUG", "012"),
        ('severity>="ERROR"', ""),
        ("severity<WARNING", "012"),
        ('resource.labels.job_id="8"', ""),
    ],
)
def test_whoever_follows_a_log_sees_every_entry_once(listed, more, messages):
    """The filters of Google Cloud SDK 528 (command_lib/logs/stream.py), and their like."""
    assert listed(f"{JOB} AND {more.format(STAMPS[0])}") == list(messages)


def test_a_log_nobody_asks_for_by_its_job_is_refused(listed):
    with pytest.raises(urllib.error.HTTPError, match="400"):
        listed('severity="INFO"')
