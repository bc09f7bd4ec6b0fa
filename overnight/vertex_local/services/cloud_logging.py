"""Cloud Logging's `entries:list` for the logs of custom jobs: the part that following a job takes.

Served over REST only, at POST /v2/entries:list. Filters are those of Vertex AI's lists, which Cloud Logging's language
has too (comparisons, AND, OR, NOT, brackets), and name one job; entries come oldest first.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from overnight.vertex_local.api.errors import invalid
from overnight.vertex_local.api.rest_front import Control
from overnight.vertex_local.engine.log_entries import LogEntry
from overnight.vertex_local.state.filters import Predicate, predicate
from overnight.vertex_local.world import World

MAX_PAGE = 1000
"""Cloud Logging's own bound (its REST reference, entries.list)."""

SEVERITIES = {
    "DEFAULT": 0,
    "DEBUG": 100,
    "INFO": 200,
    "NOTICE": 300,
    "WARNING": 400,
    "ERROR": 500,
    "CRITICAL": 600,
    "ALERT": 700,
    "EMERGENCY": 800,
}
"""Cloud Logging's LogSeverity: filters compare the numbers."""

_JOB = re.compile(r'resource\.labels\.job_id\s*=\s*"?(\w+)"?')

_SEVERITY = re.compile(r'\bseverity\s*(>=|<=|>|<)\s*"?([A-Za-z]+)"?')


class CloudLoggingService:
    """No method of Vertex AI's; one control."""

    def __init__(self, world: World) -> None:
        self._files = world.engine.files

    def handlers(self) -> Mapping[str, Any]:
        """None: logs are another API."""
        return {}

    def controls(self) -> Mapping[str, Control]:
        """`entries`: what /v2/entries:list answers."""
        return {"entries": self.entries}

    def entries(self, content: dict[str, Any]) -> dict[str, Any]:
        """A ListLogEntriesResponse; raises ApiError for a filter that is not understood or names no job."""
        text = str(content.get("filter", ""))
        passes, named = predicate(_SEVERITY.sub(_by_number, text)), _JOB.search(text)
        if named is None:
            raise invalid('The filter must hold resource.labels.job_id="ID".')
        first = _number(content.get("pageToken") or "0", "pageToken")
        size = _number(content.get("pageSize") or MAX_PAGE, "pageSize")
        size = min(size or MAX_PAGE, MAX_PAGE)
        found = list(islice(self._entries(named[1], first, passes), size + 1))
        answer: dict[str, Any] = {"entries": [entry for _, entry in found[:size]]}
        return answer if len(found) <= size else {**answer, "nextPageToken": str(found[size][0])}

    def _entries(self, job: str, first: int, passes: Predicate) -> Iterator[tuple[int, dict[str, Any]]]:
        """Numbered entries of a job from `first` on that the filter lets pass."""
        for number, entry in enumerate(self._all(job)):
            shown = _json(job, number, entry)
            if number >= first and passes(_filtered(shown)):
                yield number, shown

    def _all(self, job: str) -> Iterator[LogEntry]:
        for name in self._names(job):
            page = self._files.read_log(name)
            while page.entries:
                yield from page.entries
                page = self._files.read_log(name, page.next)

    def _names(self, job: str) -> list[str]:
        """Names with that id: the request does not say in which region."""
        root: Path = self._files.folder("projects/p/locations/l/customJobs/j").path.parents[1]
        regions = sorted(folder.parent.name for folder in root.glob(f"*/{job}"))
        return [f"projects/-/locations/{region}/customJobs/{job}" for region in regions]


def _by_number(match: re.Match[str]) -> str:
    name = match[2].upper()
    if name not in SEVERITIES:
        raise invalid(f"Unknown severity {match[2]}.")
    return f"severity_number{match[1]}{SEVERITIES[name]}"


def _filtered(shown: dict[str, Any]) -> dict[str, Any]:
    """What filters see of an entry: names as they write them in state.filters, times as times."""
    return {
        "timestamp": datetime.fromisoformat(shown["timestamp"]),
        "severity": shown["severity"],
        "severity_number": SEVERITIES[shown["severity"]],
        "insert_id": shown["insertId"],
        "resource": shown["resource"],
    }


def _number(value: Any, name: str) -> int:
    text = str(value)
    if not text.isdecimal():
        raise invalid(f"{name} is not valid.")
    return int(text)


def _json(job: str, number: int, entry: LogEntry) -> dict[str, Any]:
    """A LogEntry as Vertex AI writes it: resource ml_job, its replica as task_name."""
    return {
        "insertId": f"{job}-{number:09d}",
        "timestamp": entry.timestamp,
        "severity": entry.severity,
        "resource": {"type": "ml_job", "labels": {"job_id": job, "task_name": entry.replica}},
        "jsonPayload": {"message": entry.message},
    }
