"""Names of contenders that other modules must know: a peer's own module cannot be imported without its library."""

CLASSIC = ("torchvision, PIL (the classic recipe)", "Pillow + torch (the classic recipe's steps)")
"""The second is what the first calls, for where torchvision is not installed."""
