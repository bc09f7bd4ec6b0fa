"""One worker process of a build on this machine: Beam's own, without its log lines."""

import logging
import signal
import sys
from typing import Any

if __name__ == "__main__":
    # Beam's harness tells of each step of its start and end; a failure reaches the first process as an exception.
    logging.disable(logging.WARNING)
    # Control-C goes to the first process; this one ends when that one's connection does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    from apache_beam.runners.worker import sdk_worker_main

    harness: Any = sdk_worker_main  # untyped for mypy --strict
    harness.main(sys.argv)
