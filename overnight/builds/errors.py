"""What can be wrong with a build."""

from overnight.errors import OvernightError


class BuildError(OvernightError):
    """A build file that cannot be read, or a build that cannot be run here."""
