"""What can be wrong with labels."""

from pathlib import Path

from overnight.errors import OvernightError


class LabelsError(OvernightError):
    """The label table or a snapshot cannot be read or written."""


class SnapshotRejected(OvernightError):
    """The label table did not pass its checks; no snapshot was made. `report` is where the report is kept."""

    exit_code = 3

    def __init__(self, problem: str, *, where: str | None, remedy: str | None, report: Path | None) -> None:
        super().__init__(problem, where=where, remedy=remedy)
        self.report = report
