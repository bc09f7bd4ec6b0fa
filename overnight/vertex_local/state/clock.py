"""The server's clock: the machine's, moved forward by as much as somebody asked."""

import threading
from datetime import UTC, datetime, timedelta

from google.protobuf.timestamp_pb2 import Timestamp

from overnight.vertex_local.state.store import Store

_NAME = "clock"
_OFFSET = "offset seconds"


class Clock:
    """Time as resources and schedules see it. The offset lives in the store, so that a restart keeps it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._offset = timedelta(seconds=store.note(_NAME, _OFFSET, 0.0))

    def now(self) -> datetime:
        """The time in UTC, with microseconds."""
        return datetime.now(UTC) + self._offset

    @property
    def offset(self) -> timedelta:
        """How far this clock is ahead of the machine's."""
        return self._offset

    def timestamp(self) -> Timestamp:
        """`now` as the API's message."""
        stamp = Timestamp()
        stamp.FromDatetime(self.now())
        return stamp

    def advance(self, seconds: float) -> datetime:
        """Move the clock forward for good; returns the new time. Raises ValueError for a step back."""
        if seconds < 0:
            raise ValueError(f"the clock cannot go back by {-seconds} s")
        with self._lock:
            self._offset += timedelta(seconds=seconds)
            self._store.set_note(_NAME, _OFFSET, self._offset.total_seconds())
        return self.now()
