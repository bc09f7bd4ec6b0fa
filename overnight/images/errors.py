"""What can be wrong with an image."""

from overnight.errors import OvernightError


class ImageError(OvernightError):
    """A reference, a registry's answer, an attestation or a pin that cannot be used."""
