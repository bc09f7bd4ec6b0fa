"""Cloud Logging's `entries:list` for the logs of custom jobs: the part that following a job takes.

Served over REST only, at POST /v2/entries:list. Filters are comparisons joined by AND; entries come oldest first.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from overnight.vertex_local.api.errors import invalid
from overnight.vertex_local.api.rest_front import Control
from overnight.vertex_local.engine.log_entries import LogEntry
from overnight.vertex_local.world import World

MAX_PAGE = 1000
"""Cloud Logging's own bound (its REST reference, entries.list)."""

_COMPARISON = re.compile(r'\s*([a-z_.]+)\s*(=|!=|>=|<=|>|<)\s*"([^"]*)"\s*')
_FIELDS: dict[str, Callable[[LogEntry], str]] = {
    "timestamp": lambda entry: entry.timestamp,
    "severity": lambda entry: entry.severity,
    "resource.labels.task_name": lambda entry: entry.replica,
}
_COMPARE: dict[str, Callable[[str, str], bool]] = {
    "=": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    ">=": lambda left, right: left >= right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    "<": lambda left, right: left < right,
}
_JOB = "resource.labels.job_id"
Comparison = tuple[str, str, str]


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
        wanted = comparisons(str(content.get("filter", "")))
        job = next((value for field, operator, value in wanted if (field, operator) == (_JOB, "=")), None)
        if job is None or not job.isalnum():
            raise invalid(f'The filter must hold {_JOB}="ID".')
        first = _number(content.get("pageToken") or "0", "pageToken")
        size = _number(content.get("pageSize") or MAX_PAGE, "pageSize")
        size = min(size or MAX_PAGE, MAX_PAGE)
        rest = [item for item in wanted if item[0] not in (_JOB, "resource.type")]
        found = list(islice(self._entries(job, first, rest), size + 1))
        answer: dict[str, Any] = {"entries": [_json(job, number, entry) for number, entry in found[:size]]}
        return answer if len(found) <= size else {**answer, "nextPageToken": str(found[size][0])}

    def _entries(self, job: str, first: int, wanted: list[Comparison]) -> Iterator[tuple[int, LogEntry]]:
        """Numbered entries of a job from `first` on that the comparisons let pass."""
        for number, entry in enumerate(self._all(job)):
            if number >= first and all(_COMPARE[how](_FIELDS[field](entry), value) for field, how, value in wanted):
                yield number, entry

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


def comparisons(text: str) -> list[Comparison]:
    """Field, operator and value of each part of a filter; raises ApiError for anything else."""
    found: list[Comparison] = []
    for part in re.split(r"\s+AND\s+|\n+", text.strip()):
        match = _COMPARISON.fullmatch(part)
        if match is None or match[1] not in (*_FIELDS, _JOB, "resource.type"):
            raise invalid(f'Unparseable filter: {part!r}; here a filter is FIELD="VALUE" joined by AND.')
        found.append((match[1], match[2], match[3]))
    return found


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
