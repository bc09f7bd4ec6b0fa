"""What a job's replicas write, from Cloud Logging's REST API, or from a local server that answers like it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from overnight.errors import OvernightError
from overnight.jobs.client import Job
from overnight.jobs.endpoint import Endpoint, authorized_session

SECONDS_A_CALL = 30.0
PAGE = 1000
"""Entries in one answer; Cloud Logging's own bound."""


@dataclass(frozen=True)
class LogLine:
    """One line; `time` as RFC 3339."""

    time: str
    severity: str
    replica: str
    text: str


class Logs(Protocol):
    """Where log lines come from."""

    def new(self, job: Job) -> Iterator[LogLine]:
        """Lines of the job since the last call; the first call begins at the beginning."""
        ...


class NoLogs:
    """Where there are none to be had."""

    def new(self, job: Job) -> Iterator[LogLine]:
        """Nothing."""
        return iter(())


class QuietLogs:
    """Other logs until they cannot be read; then none, so that following the job goes on."""

    def __init__(self, logs: Logs, tell: Callable[[str], None]) -> None:
        """`tell` hears once why."""
        self._logs = logs
        self._tell = tell

    def new(self, job: Job) -> Iterator[LogLine]:
        """Lines, as long as there are any to be had."""
        try:
            yield from self._logs.new(job)
        except OvernightError as error:
            self._logs = NoLogs()
            self._tell(error.sentence)


class CloudLogs:
    """Reads `entries:list`. Entries may come late: what is older than the last one seen is not asked for again."""

    def __init__(self, url: str, session: Any, project: str) -> None:
        """`url` without path; `session` is a requests.Session, with credentials where they are needed."""
        self._url = f"{url}/v2/entries:list"
        self._session = session
        self._project = project
        self._last: dict[str, str] = {}
        self._seen: dict[str, set[str]] = {}

    def new(self, job: Job) -> Iterator[LogLine]:
        """Lines in the order of their time. Raises OvernightError when the API answers with an error."""
        body = request_body(self._project, job.id, self._last.get(job.name))
        while True:
            answer = self._ask(body)
            for entry in answer.get("entries", []):
                yield from self._fresh(job.name, entry)
            if not answer.get("nextPageToken"):
                return
            body = {**body, "pageToken": answer["nextPageToken"]}

    def _fresh(self, name: str, entry: dict[str, Any]) -> Iterator[LogLine]:
        line, mark = line_of(entry), str(entry.get("insertId", entry))
        if line.time != self._last.get(name):
            self._seen[name] = set()
        if mark not in self._seen.setdefault(name, set()):
            self._seen[name].add(mark)
            self._last[name] = line.time
            yield line

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException

        try:
            answer = self._session.post(self._url, json=body, timeout=SECONDS_A_CALL)
            answer.raise_for_status()
            return dict(answer.json())
        except (RequestException, GoogleAuthError, ValueError) as error:
            raise OvernightError(
                f"the log cannot be read: {error}",
                where=self._url,
                remedy="this needs roles/logging.viewer; a local server may have no logs to give",
            ) from error


def request_body(project: str, job_id: str, after: str | None = None) -> dict[str, Any]:
    """The request of `entries:list` for the entries of one job, from the time `after` on."""
    wanted = f'resource.type="ml_job" AND resource.labels.job_id="{job_id}"'
    if after is not None:
        wanted += f' AND timestamp>="{after}"'
    return {
        "resourceNames": [f"projects/{project}"],
        "filter": wanted,
        "orderBy": "timestamp asc",
        "pageSize": PAGE,
    }


def line_of(entry: dict[str, Any]) -> LogLine:
    """A LogEntry as a line: text payloads, and the `message` of JSON ones."""
    payload = entry.get("jsonPayload", {})
    return LogLine(
        time=str(entry.get("timestamp", "")),
        severity=str(entry.get("severity", "DEFAULT")),
        replica=str(entry.get("resource", {}).get("labels", {}).get("task_name", "")),
        text=str(entry.get("textPayload", payload.get("message", ""))).rstrip("\n"),
    )


def logs_of(endpoint: Endpoint, project: str) -> Logs:
    """The logs beside an endpoint; raises OvernightError. A local gRPC address has none: they come over REST."""
    if endpoint.encrypted:
        session = authorized_session("https://www.googleapis.com/auth/logging.read")
        return CloudLogs("https://logging.googleapis.com", session, project)
    if endpoint.transport == "grpc":
        return NoLogs()
    import requests

    return CloudLogs(f"http://{endpoint.address}", requests.Session(), project)
