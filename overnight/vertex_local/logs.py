"""The replicas' logs: one file each, followed while the job runs."""

from pathlib import Path

from overnight.vertex_local.cluster import ReplicaName

_TAIL_BYTES = 64 * 1024


def log_path(logs: Path, replica: ReplicaName) -> Path:
    """`logs/workerpool0-0.log`."""
    return logs / f"{replica}.log"


class Follower:
    """Reads the lines that were added to a file since the last call; the unfinished last line waits."""

    def __init__(self, path: Path, position: int | None = None, limit: int | None = None) -> None:
        """Begin at byte `position`, or at what is the end of the file now; read `limit` bytes a call at most.

        With a limit, a line that is longer comes in pieces, so that memory stays bounded.
        """
        self._path = path
        self._position = position if position is not None else path.stat().st_size if path.exists() else 0
        self._limit = limit
        self._rest = b""

    @property
    def position(self) -> int:
        """Where the first line begins that has not been returned."""
        return self._position - len(self._rest)

    def lines(self, *, final: bool = False) -> list[str]:
        """New whole lines; with `final` also what stands after the last line break."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read(self._limit)
        except FileNotFoundError:
            return []
        self._position += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        too_long = self._limit is not None and len(self._rest) >= self._limit
        if (final or too_long) and self._rest:
            whole.append(self._rest)
            self._rest = b""
        return [line.decode("utf-8", "replace").rstrip("\r") for line in whole]


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """The last `count` non-empty lines of a log, fewer where there are fewer."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ()
    return tuple(line for line in text.splitlines() if line.strip())[-count:]
