"""Google's reduction server, which nobody but Google can run: here a process that sleeps in its place."""

import re
import sys
from typing import Any

_IMAGE = re.compile(r"^[a-z]+-docker\.pkg\.dev/vertex-ai-restricted/training/reductionserver(:|@|$)")

COMMAND = (sys.executable, "-I", "-S", "-c", "import signal; signal.pause()")
"""Gradients are reduced by the workers themselves, as without reducers."""


def is_reducer(pool: Any) -> bool:
    """Whether a pool's image is Google's reduction server (vertex-facts 1.3)."""
    return bool(_IMAGE.match(pool.container_spec.image_uri))
