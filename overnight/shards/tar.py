"""USTAR archives whose bytes depend on names and contents alone (POSIX.1-1988, pax manual, "ustar interchange format").

Python's tarfile fills unused header fields differently from version to version, so headers are written here.
"""

import hashlib
from typing import BinaryIO

BLOCK = 512
_NAME_BYTES = 100
_END = bytes(2 * BLOCK)


def header(name: str, size: int) -> bytes:
    """The 512 bytes before a regular file: mode 0644, owner 0, time 0, no owner names.

    Raises ValueError when `name` (ASCII) is longer than 100 bytes or `size` does not fit 11 octal digits.
    """
    encoded = name.encode("ascii")
    if len(encoded) > _NAME_BYTES:
        raise ValueError(f"{name!r} is longer than {_NAME_BYTES} bytes")
    if size >= 8**11:
        raise ValueError(f"{name!r} has {size} bytes, too many for a USTAR member")
    fields = [
        encoded.ljust(_NAME_BYTES, b"\0"),
        b"0000644\0" + b"0000000\0" * 2,  # mode, uid, gid
        b"%011o\0" % size,
        b"00000000000\0",  # mtime
        b" " * 8,  # the checksum counts as spaces while it is computed
        b"0".ljust(101, b"\0"),  # a regular file, no link
        b"ustar\0" + b"00",
        bytes(64),  # user and group name
        b"0000000\0" * 2,  # device numbers
    ]
    block = b"".join(fields).ljust(BLOCK, b"\0")
    return block.replace(b" " * 8, b"%06o\0 " % sum(block), 1)


def padding(size: int) -> int:
    """Zero bytes behind a member of `size` bytes."""
    return -size % BLOCK


class Writer:
    """Appends members to `file` and keeps the digest of everything written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.size = 0

    def add(self, name: str, data: bytes) -> int:
        """Append a member; returns the offset of its first byte."""
        self._write(header(name, len(data)))
        offset = self.size
        self._write(data)
        self._write(bytes(padding(len(data))))
        return offset

    def finish(self) -> str:
        """Append the end of the archive; returns the SHA-256 of all bytes."""
        self._write(_END)
        return self._digest.hexdigest()

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)
