"""What can be wrong with a pipeline template."""

from overnight.errors import OvernightError


class TemplateError(OvernightError):
    """A template that cannot be compiled, or that a registry does not have, take or keep."""
