"""`python -m trainer.rewrite`: rewrite the JPEGs that come on standard input, one after the other.

For programs that make shards and do not import this package. The protocol is docs/formats.md, "Rewriting pictures".
"""

import argparse
import json
import struct
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

from trainer import _native
from trainer.command import fail_in_one_sentence
from trainer.errors import TrainerError

FORMAT = "overnight.rewrite/1"
_LENGTH = struct.Struct(">I")
_MOST_ROWS = 65_535


class ProtocolError(TrainerError):
    """What came on standard input is no request."""


def rewritten(picture: bytes, rows: int) -> tuple[str, bytes]:
    """`picture` with a restart marker after every `rows` rows of units, and "ok"; or why not, and no bytes.

    ok means: read again, the new file holds the same coefficients, and both decoders make the same samples of it.
    """
    made, status = _native.rewrite(picture, rows)
    if made is not None:
        status = _native.decoders_agree(made)
    return (status, made) if made is not None and status == "ok" else (status, b"")


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the requests end. Raises ProtocolError."""
    _send(answers, {"format": FORMAT, "libjpeg_turbo": _native.LIBJPEG_VERSION}, b"")
    while head := _frame(requests):
        rows = _rows(head)
        picture = _frame(requests)
        if picture is None:
            raise ProtocolError("the input ends inside a request", where="standard input")
        status, made = rewritten(picture, rows)
        _send(answers, {"status": status}, made)


def _rows(head: bytes) -> int:
    try:
        rows = json.loads(head)["rows"]
    except (ValueError, KeyError, TypeError):
        raise ProtocolError("this is not a request's head", where="standard input") from None
    if type(rows) is not int or not 0 <= rows <= _MOST_ROWS:
        raise ProtocolError(f"{rows!r} cannot be", where="rows", remedy=f"give 0 to {_MOST_ROWS}")
    return rows


def _frame(file: BinaryIO) -> bytes | None:
    """The next frame; None at the input's end."""
    prefix = file.read(_LENGTH.size)
    if not prefix:
        return None
    if len(prefix) == _LENGTH.size:
        (length,) = _LENGTH.unpack(prefix)
        data = file.read(length)
        if len(data) == length:
            return data
    raise ProtocolError("the input ends inside a frame", where="standard input")


def _send(file: BinaryIO, head: dict[str, Any], body: bytes) -> None:
    encoded = json.dumps(head, sort_keys=True).encode()
    file.write(_LENGTH.pack(len(encoded)) + encoded + _LENGTH.pack(len(body)) + body)
    file.flush()


def main(arguments: Sequence[str]) -> int:
    """Serve standard input; the exit code. Raises TrainerError."""
    description = "Rewrite JPEGs with restart markers; requests on standard input, answers on standard output."
    argparse.ArgumentParser(prog="python -m trainer.rewrite", description=description).parse_args(arguments)
    serve(sys.stdin.buffer, sys.stdout.buffer)
    return 0


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
