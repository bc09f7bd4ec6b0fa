"""Commands as they are typed."""

from image_commands import image

__all__ = ["image"]
