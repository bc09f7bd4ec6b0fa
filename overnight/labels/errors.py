"""What can be wrong with labels."""

from pathlib import Path
from typing import Any

from overnight.errors import OvernightError


class LabelsError(OvernightError):
    """The label table or a snapshot cannot be read or written."""


class SnapshotRejected(OvernightError):
    """The label table did not pass its checks; no snapshot was made."""

    exit_code = 3

    def __init__(
        self, problem: str, *, where: str, remedy: str, content: dict[str, Any], report: Path | None = None
    ) -> None:
        super().__init__(problem, where=where, remedy=remedy)
        self.content = content
        """What report.json holds."""
        self.report = report
        """Where the report is kept; None after a dry run."""
