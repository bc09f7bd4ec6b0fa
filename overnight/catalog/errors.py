"""What can be wrong with images that are to be imported."""

from overnight.errors import OvernightError


class ImportProblem(OvernightError):
    """The folder or the table of images cannot be imported as it is."""
