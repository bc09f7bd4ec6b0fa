"""The folders of all jobs: where they are, and what may be read there."""

import shutil
from pathlib import Path

from overnight.vertex_local.engine.events import Event, EventReader
from overnight.vertex_local.engine.folder import JobFolder
from overnight.vertex_local.engine.log_entries import LogPage, read_entries


class JobFiles:
    """By the jobs' names: `projects/…/locations/REGION/customJobs/ID` lies in `<root>/REGION/ID`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder(self, name: str) -> JobFolder:
        """The job's folder, which need not be there."""
        parts = name.split("/")
        return JobFolder(self._root / parts[3] / parts[-1])

    def read_log(self, name: str, after: int = 0) -> LogPage:
        """The job's log entries from position `after` on, and the next position; none for a job that is not there."""
        return read_entries(self.folder(name).log, after)

    def events(self, name: str) -> list[Event]:
        """All that happened to the job, oldest first."""
        return EventReader(self.folder(name).events).new()

    def forget(self, name: str) -> None:
        """Remove the folder of a job that has ended and was deleted."""
        shutil.rmtree(self.folder(name).path, ignore_errors=True)
