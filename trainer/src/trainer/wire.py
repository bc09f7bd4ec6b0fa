"""A connection between two launchers."""

import contextlib
import json
import socket
from typing import Any

_MESSAGE_BYTES = 1 << 12


class Wire:
    """A connection that carries JSON lines, read without waiting."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        # A machine that is gone says nothing: noticed after two minutes.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_KEEPIDLE"):
            for option, value in ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4)):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
        self._connection = connection
        self._buffer = b""

    def send(self, **message: Any) -> None:
        """Send; a connection that has ended shows when it is read."""
        with contextlib.suppress(OSError):
            self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> dict[str, Any] | None:
        """The next message, None when there is none yet; raises EOFError when none will come."""
        while b"\n" not in self._buffer:
            try:
                data = self._connection.recv(_MESSAGE_BYTES)
            except BlockingIOError:
                return None
            except OSError:
                raise EOFError from None
            if not data or len(self._buffer) > _MESSAGE_BYTES:
                raise EOFError
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            return dict(json.loads(line))
        except (ValueError, TypeError):  # nobody of ours
            raise EOFError from None

    def close(self) -> None:
        """Let go."""
        self._connection.close()
