"""Worker processes end with the build: when its process is gone, and at once on Control-C."""

import contextlib
import logging
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

CHECK_SECONDS = 0.25


@contextlib.contextmanager
def held() -> Iterator[Path]:
    """A file that lasts as long as the block, or until Control-C.

    On Control-C Beam first waits for its workers, which wait for it; so they must end by themselves.
    """
    with tempfile.TemporaryDirectory(prefix="overnight-") as folder:
        leash = Path(folder) / "leash"
        leash.touch()

        def interrupted(number: int, frame: FrameType | None) -> None:
            leash.unlink(missing_ok=True)
            # Beam's threads are about to tell at length that their workers are gone.
            logging.disable(logging.CRITICAL)
            threading.excepthook = lambda _: None
            raise KeyboardInterrupt

        if threading.current_thread() is not threading.main_thread():  # only the main thread hears signals
            yield leash
            return
        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield leash
        finally:
            signal.signal(signal.SIGINT, before)


def follow(leash: Path) -> None:
    """End this process when `leash` or the parent process is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent and leash.exists():
            time.sleep(CHECK_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
