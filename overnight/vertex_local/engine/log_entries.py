"""A job's log as entries, like Cloud Logging's: severity by stream, one JSON line each."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from overnight.vertex_local.cluster import ReplicaName
from overnight.vertex_local.engine.events import append_line
from overnight.vertex_local.engine.folder import JobFolder
from overnight.vertex_local.logs import Follower

SERVICE = "service"
"""Whose entries tell what the service itself did, as Vertex AI's task_name label says."""

_CHUNK = 256 * 1024
"""Bytes read at once; also the longest entry, as in Cloud Logging."""


@dataclass(frozen=True)
class LogEntry:
    """One line; `timestamp` as RFC 3339 in UTC, `severity` INFO or ERROR."""

    timestamp: str
    severity: str
    replica: str
    message: str


@dataclass(frozen=True)
class LogPage:
    """Entries, and where the next page begins."""

    entries: tuple[LogEntry, ...]
    next: int


def read_entries(log: Path, after: int = 0, limit: int = 4 * 1024 * 1024) -> LogPage:
    """The entries that begin at byte `after`, of `limit` bytes at most; ask again with `next` for more."""
    try:
        with log.open("rb") as file:
            file.seek(after)
            data = file.read(limit)
    except FileNotFoundError:
        return LogPage((), after)
    whole = data[: data.rfind(b"\n") + 1]
    entries = tuple(LogEntry(**json.loads(line)) for line in whole.splitlines())
    return LogPage(entries, after + len(whole))


def write_entry(log: Path, severity: str, replica: str, message: str) -> None:
    """Add one entry, with the time of now."""
    append_line(log, _line(severity, replica, message))


@dataclass(frozen=True)
class _Followed:
    replica: str
    severity: str
    file: str
    follower: Follower


class LogPump:
    """Carries what replicas write to their files into the job's entries."""

    def __init__(self, folder: JobFolder, replicas: Iterable[ReplicaName]) -> None:
        """Begin where an earlier pump left off, also one whose process was killed."""
        self._log = folder.log
        self._carried = folder.carried
        carried = json.loads(self._carried.read_text()) if self._carried.exists() else {}
        self._followers = [
            _Followed(str(replica), severity, path.name, Follower(path, carried.get(path.name, 0), _CHUNK))
            for replica in replicas
            for severity, path in (("INFO", folder.output(replica)), ("ERROR", folder.errors(replica)))
        ]

    def carry(self, *, final: bool = False) -> bool:
        """Carry a chunk of each file, with `final` unfinished last lines too; whether there was anything."""
        lines = [
            _line(followed.severity, followed.replica, message)
            for followed in self._followers
            for message in followed.follower.lines(final=final)
        ]
        if lines:
            append_line(self._log, "\n".join(lines))
            positions = {followed.file: followed.follower.position for followed in self._followers}
            write_over(self._carried, json.dumps(positions))
        return bool(lines)

    def drain(self) -> None:
        """Carry all that is left."""
        while self.carry():
            pass
        self.carry(final=True)


def write_over(path: Path, text: str) -> None:
    """Replace a file at once: a reader finds the old content or the new."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def _line(severity: str, replica: str, message: str) -> str:
    stamp = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return json.dumps(asdict(LogEntry(stamp, severity, replica, message)), ensure_ascii=False)
