"""What the registry of the tests can do wrong on demand."""

from collections.abc import Callable
from dataclasses import dataclass

from registry_content import body_of
from registry_wire import Reply


@dataclass
class Fault:
    """Changes the replies to the requests whose `METHOD PATH` matches `pattern`, `times` times."""

    pattern: str
    change: Callable[[Reply], Reply]
    times: int = 1_000_000


def status(
    code: int, error: str = "UNKNOWN", message: str = "told to fail", **headers: str
) -> Callable[[Reply], Reply]:
    """An error as the specification writes it."""
    body = body_of({"errors": [{"code": error, "message": message}]})
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: Reply(code, {"Content-Type": "application/json", **named}, body)


def flip(position: int = 0) -> Callable[[Reply], Reply]:
    """One bit of the body changed; the headers stay."""

    def change(reply: Reply) -> Reply:
        data = bytearray(reply.body)
        if data:
            data[position % len(data)] ^= 1
        reply.body = bytes(data)
        return reply

    return change


def header(name: str, value: str | None) -> Callable[[Reply], Reply]:
    """A header with another value, or none."""

    def change(reply: Reply) -> Reply:
        reply.headers.pop(name, None)
        if value is not None:
            reply.headers[name] = value
        return reply

    return change


def body(data: bytes, content_type: str | None = None) -> Callable[[Reply], Reply]:
    """Another body altogether, without a digest header."""
    kind = {} if content_type is None else {"Content-Type": content_type}
    return lambda _: Reply(200, kind, data)


def slow(seconds: float) -> Callable[[Reply], Reply]:
    """The reply comes late."""

    def change(reply: Reply) -> Reply:
        reply.delay = seconds
        return reply

    return change


def cut(after: int) -> Callable[[Reply], Reply]:
    """The connection is closed in the middle of the body; at once when `after` is negative."""

    def change(reply: Reply) -> Reply:
        reply.cut_after = after
        return reply

    return change
