"""The state bucket: the official client against a server that speaks buckets.get and buckets.insert.

Whole requests are compared with tests/infra/golden/bootstrap/*.json; OVERNIGHT_WRITE_GOLDEN=1 writes them anew.
"""

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from infra.bootstrap import main

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "example.yaml"
GOLDEN = Path(__file__).parent / "golden" / "bootstrap"
BUCKET = "acme-vision-prod-terraform-state"


class Storage(ThreadingHTTPServer):
    """A Cloud Storage of one project: buckets by name, the requests it got, and what it refuses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.buckets: dict[str, dict[str, Any]] = {}
        self.requests: list[dict[str, Any]] = []
        self.refused: dict[str, tuple[int, str]] = {}
        """Status and message by HTTP method."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Storage

    def do_GET(self) -> None:
        self._handle(None)

    def do_POST(self) -> None:
        self._handle(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *_: object) -> None:
        return

    def _handle(self, body: dict[str, Any] | None) -> None:
        parts = urlsplit(self.path)
        request: dict[str, Any] = {
            "method": self.command,
            "path": parts.path,
            "query": dict(parse_qsl(parts.query)),
        }
        if body is not None:
            request["body"] = body
        self.server.requests.append(request)
        if self.command in self.server.refused:
            status, message = self.server.refused[self.command]
            self._answer(status, {"error": {"code": status, "message": message}})
        elif body is not None:
            self._insert(body)
        else:
            name = parts.path.rpartition("/")[2]
            missing = (404, {"error": {"code": 404, "message": "The specified bucket does not exist."}})
            found = self.server.buckets.get(name)
            self._answer(*((200, found) if found else missing))

    def _insert(self, body: dict[str, Any]) -> None:
        # The service adds its own: here what the client reads of it. int64 fields come back as strings.
        soft = body["softDeletePolicy"]
        soft = {**soft, "retentionDurationSeconds": str(soft["retentionDurationSeconds"])}
        self.server.buckets[body["name"]] = {**body, "projectNumber": "481516234207", "softDeletePolicy": soft}
        self._answer(200, self.server.buckets[body["name"]])

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    server = Storage()
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.address)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def standing(storage: Storage, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The bucket as bootstrap made it."""
    assert bootstrap() == 0
    capsys.readouterr()
    storage.requests.clear()
    return storage.buckets[BUCKET]


def bootstrap(*arguments: str, config: Path = EXAMPLE) -> int:
    return main(["--config", str(config), *arguments])


def assert_golden(name: str, requests: object) -> None:
    path = GOLDEN / f"{name}.json"
    if os.environ.get("OVERNIGHT_WRITE_GOLDEN") == "1":
        path.write_text(json.dumps(requests, indent=2) + "\n")
    assert requests == json.loads(path.read_text())


def test_the_bucket_is_looked_for_then_made_with_one_request(
    storage: Storage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap() == 0
    assert_golden("made", storage.requests)
    assert capsys.readouterr().out == f"bootstrap: gs://{BUCKET} is made in us-central1\n"


def test_a_dry_run_prints_exactly_the_request_that_is_sent(
    storage: Storage, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap("--dry-run") == 0
    assert storage.requests == []
    printed = json.loads(capsys.readouterr().out)
    assert bootstrap() == 0
    assert printed == storage.requests[-1]


def test_a_second_run_changes_nothing_and_says_so(
    storage: Storage, standing: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap() == 0
    assert_golden("checked", storage.requests)
    assert capsys.readouterr().out == f"bootstrap: gs://{BUCKET} exists and is as it must be\n"


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": {"owner": "platform", "cost_center": "x", "managed_by": "hand", "more": "yes"}},
        {"softDeletePolicy": {"retentionDurationSeconds": str(90 * 86400)}},
        {"storageClass": "STANDARD"},
    ],
)
def test_what_does_no_harm_is_left_alone(storage: Storage, standing: dict[str, Any], changes: dict[str, Any]) -> None:
    standing.update(changes)
    assert bootstrap() == 0
    assert [request["method"] for request in storage.requests] == ["GET"]


UPDATE = f"gcloud storage buckets update gs://{BUCKET} "


@pytest.mark.parametrize(
    ("changes", "says", "remedy"),
    [
        ({"versioning": {"enabled": False}}, "versioning is off", UPDATE + "--versioning"),
        (
            {
                "iamConfiguration": {
                    "uniformBucketLevelAccess": {"enabled": False},
                    "publicAccessPrevention": "enforced",
                }
            },
            "uniform bucket-level access is off",
            UPDATE + "--uniform-bucket-level-access",
        ),
        (
            {
                "iamConfiguration": {
                    "uniformBucketLevelAccess": {"enabled": True},
                    "publicAccessPrevention": "inherited",
                }
            },
            "public access prevention is 'inherited', not 'enforced'",
            UPDATE + "--public-access-prevention",
        ),
        (
            {"softDeletePolicy": {"retentionDurationSeconds": "604800"}},
            "soft delete keeps deleted objects for 7 days, fewer than 30",
            UPDATE + "--soft-delete-duration=30d",
        ),
        (
            {"lifecycle": {"rule": [{"action": {"type": "Delete"}, "condition": {"age": 30}}]}},
            "the lifecycle rules are not the one that keeps 50 earlier versions",
            "--lifecycle-file=",
        ),
        (
            {"labels": {"managed_by": "overnight"}},
            "labels are missing: cost_center, owner",
            "--update-labels=cost_center",
        ),
        ({"location": "EU"}, "the bucket lies in EU, not in US-CENTRAL1", "choose another name in google.state.bucket"),
        ({"projectNumber": "1"}, "this bucket belongs to project number 1, not 481516234207", "choose another name"),
    ],
)
def test_a_wrong_setting_is_named_with_its_command_and_nothing_is_changed(
    storage: Storage,
    standing: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    says: str,
    remedy: str,
) -> None:
    standing.update(changes)
    assert bootstrap() == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith(f"bootstrap: gs://{BUCKET}: {says}")
    assert remedy in sentence
    assert sentence.count("\n") == 1
    assert [request["method"] for request in storage.requests] == ["GET"]


@pytest.mark.parametrize(
    ("method", "status", "message", "says"),
    [
        ("GET", 403, "me@x does not have storage.buckets.get access.", "the bucket is someone else's, or this account"),
        ("POST", 403, "me@x does not have storage.buckets.create access.", "may neither read nor make it"),
        ("POST", 409, "The requested bucket name is not available.", "this bucket name is taken by someone else"),
        ("POST", 400, "Invalid bucket name.", "Cloud Storage refused (400"),
    ],
)
def test_a_refusal_is_one_sentence(
    storage: Storage, capsys: pytest.CaptureFixture[str], method: str, status: int, message: str, says: str
) -> None:
    storage.refused[method] = (status, message)
    assert bootstrap() == 2
    sentence = capsys.readouterr().err
    assert says in sentence
    assert f"gs://{BUCKET}" in sentence
    assert sentence.count("\n") == 1


def test_missing_credentials_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    assert bootstrap() == 2
    sentence = capsys.readouterr().err
    assert sentence.startswith("bootstrap: there are no usable Google credentials (")
    assert "gcloud auth application-default login" in sentence
    assert sentence.count("\n") == 1


def test_an_environment_without_a_project_needs_no_bucket(capsys: pytest.CaptureFixture[str]) -> None:
    assert bootstrap(config=ROOT / "config" / "local.yaml") == 2
    assert "no Google Cloud project" in capsys.readouterr().err
