"""One worker process of a build on this machine: Beam's own, without its log lines, and no longer than the build."""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

from overnight.shards import leash

if __name__ == "__main__":
    # Beam's harness tells of each step of its start and end; a failure reaches the first process as an exception.
    logging.disable(logging.CRITICAL)
    # Control-C goes to the whole terminal; the first process decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leash.follow(Path(sys.argv[1]))

    from apache_beam.runners.worker import sdk_worker_main

    harness: Any = sdk_worker_main  # untyped for mypy --strict
    code = 1
    try:
        harness.main(sys.argv)
        code = 0
    finally:
        os._exit(code)  # threads of gRPC can crash an interpreter that ends in the ordinary way
