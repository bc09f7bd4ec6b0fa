"""What can be wrong with policies, apart from what they find."""

from overnight.errors import OvernightError


class PolicyError(OvernightError):
    """A document that cannot be judged, a policy that does not parse, an engine that is missing."""
