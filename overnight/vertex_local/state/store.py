"""Protobuf messages in one SQLite file: named, typed, in order of creation, with notes and links beside them."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.message import Message

from overnight.vertex_local.api.errors import exists, not_found

Messages = list[Message]
"""Named here because the classes of this package have methods called `list`."""
Names = list[str]
Rows = list[tuple[int, Message]]
Links = list[tuple[str, bytes]]

_TABLES = """
CREATE TABLE IF NOT EXISTS resources (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, parent TEXT NOT NULL, message BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_parent ON resources (kind, parent, sequence);
CREATE TABLE IF NOT EXISTS notes (
    name TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (name, key)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS links (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    relation TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, payload BLOB NOT NULL, digest TEXT NOT NULL,
    UNIQUE (source, relation, target, digest));
CREATE INDEX IF NOT EXISTS by_target ON links (target, relation);
"""


class Store:
    """All state of a server. Every method may be called from any thread; one writes or reads at a time.

    What a method returned has been written to the file, so it is there again after the process was killed.
    Messages are copies: changing one changes nothing in the store; use `update`.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.RLock()
        self._depth = 0
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Several calls as one: all of them are kept, or none when the block raises. Blocks may be nested."""
        with self._lock:
            if self._depth == 0:
                self._connection.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    self._connection.execute("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self._connection.execute("COMMIT")

    def insert(self, name: str, kind: str, message: Message) -> None:
        """Keep a new message; `kind` is its full protobuf name. Raises ApiError ALREADY_EXISTS."""
        row = (name, kind, parent_of(name), message.SerializeToString())
        with self.transaction():
            try:
                self._connection.execute("INSERT INTO resources (name, kind, parent, message) VALUES (?, ?, ?, ?)", row)
            except sqlite3.IntegrityError:
                raise exists(name) from None

    def find(self, name: str) -> Message | None:
        """The message called `name`, if there is one."""
        rows = self._select("SELECT kind, message FROM resources WHERE name = ?", name)
        return _parse(*rows[0]) if rows else None

    def get(self, name: str) -> Message:
        """The message called `name`; raises ApiError NOT_FOUND."""
        message = self.find(name)
        if message is None:
            raise not_found(name)
        return message

    def update(self, name: str, change: Callable[[Message], None]) -> Message:
        """Read, change and write a message in one transaction; nothing is written when `change` raises.

        Raises ApiError NOT_FOUND. Returns the message as it is now.
        """
        with self.transaction():
            message = self.get(name)
            change(message)
            data = message.SerializeToString()
            self._connection.execute("UPDATE resources SET message = ? WHERE name = ?", (data, name))
        return message

    def delete(self, name: str) -> None:
        """Forget a message, its notes and its links; raises ApiError NOT_FOUND."""
        with self.transaction():
            if not self._connection.execute("DELETE FROM resources WHERE name = ?", (name,)).rowcount:
                raise not_found(name)
            self._connection.execute("DELETE FROM notes WHERE name = ?", (name,))
            self._connection.execute("DELETE FROM links WHERE source = ? OR target = ?", (name, name))

    def delete_below(self, name: str) -> None:
        """Forget everything whose name begins with `name` and a slash."""
        with self.transaction():
            # "0" is the character after "/".
            for (child,) in self._select(
                "SELECT name FROM resources WHERE name > ? AND name < ?", f"{name}/", f"{name}0"
            ):
                self.delete(child)

    def list(self, parent: str, kind: str) -> Messages:
        """The messages of a kind directly under `parent`, oldest first."""
        return [message for _, message in self.rows(parent, kind)]

    def rows(self, parent: str, kind: str) -> Rows:
        """As `list`, each with its number: later messages have greater numbers, also across restarts."""
        query = "SELECT sequence, message FROM resources WHERE kind = ? AND parent = ? ORDER BY sequence"
        return [(sequence, _parse(kind, data)) for sequence, data in self._select(query, kind, parent)]

    def names(self, kind: str) -> Names:
        """The names of all messages of a kind, oldest first."""
        return [name for (name,) in self._select("SELECT name FROM resources WHERE kind = ? ORDER BY sequence", kind)]

    def set_note(self, name: str, key: str, value: Any) -> None:
        """Remember a JSON value about `name` that the API's message has no field for; None forgets it."""
        with self.transaction():
            self._connection.execute("DELETE FROM notes WHERE name = ? AND key = ?", (name, key))
            if value is not None:
                self._connection.execute("INSERT INTO notes VALUES (?, ?, ?)", (name, key, json.dumps(value)))

    def note(self, name: str, key: str, default: Any = None) -> Any:
        """The JSON value remembered with `set_note`."""
        rows = self._select("SELECT value FROM notes WHERE name = ? AND key = ?", name, key)
        return json.loads(rows[0][0]) if rows else default

    def link(self, relation: str, source: str, target: str, payload: bytes = b"") -> None:
        """Connect two resources; connecting them again in the same way changes nothing."""
        with self.transaction():
            self._connection.execute(
                "INSERT OR IGNORE INTO links (relation, source, target, payload, digest) VALUES (?, ?, ?, ?, ?)",
                (relation, source, target, payload, hashlib.sha256(payload).hexdigest()),
            )

    def unlink(self, relation: str, source: str, target: str) -> None:
        """Take the connections of a relation between two resources away."""
        with self.transaction():
            self._connection.execute(
                "DELETE FROM links WHERE relation = ? AND source = ? AND target = ?", (relation, source, target)
            )

    def linked(self, relation: str, source: str) -> Links:
        """What `source` is connected to: (target, payload), oldest connection first."""
        query = "SELECT target, payload FROM links WHERE relation = ? AND source = ? ORDER BY sequence"
        found: Links = self._select(query, relation, source)
        return found

    def linking(self, relation: str, target: str) -> Links:
        """What is connected to `target`: (source, payload), oldest connection first."""
        query = "SELECT source, payload FROM links WHERE relation = ? AND target = ? ORDER BY sequence"
        found: Links = self._select(query, relation, target)
        return found

    def _select(self, query: str, *values: Any) -> Any:
        with self._lock:
            return self._connection.execute(query, values).fetchall()


def parent_of(name: str) -> str:
    """`projects/p/locations/l` of `projects/p/locations/l/customJobs/1`."""
    return "/".join(name.split("/")[:-2])


def message_class(kind: str) -> type[Message]:
    """The class of a full protobuf name; the module that defines it must have been imported."""
    found: type[Message] = message_factory.GetMessageClass(descriptor_pool.Default().FindMessageTypeByName(kind))
    return found


def _parse(kind: str, data: bytes) -> Message:
    return message_class(kind).FromString(data)
