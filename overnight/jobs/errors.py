"""The errors of job specs and runs."""

from overnight.errors import OvernightError


class SpecError(OvernightError):
    """A job spec has a field that is wrong; names the file, the line, the field and the remedy."""


class RunFailed(OvernightError):
    """The job ended without success."""


class RunCancelled(OvernightError):
    """The job was stopped by the user; 130 is what shells report for an interrupted command."""

    exit_code = 130
