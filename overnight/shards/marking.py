"""Give a stored picture restart markers, or say why it cannot be used after all."""

from dataclasses import replace

from overnight.shards import jpeg
from overnight.shards.examine import Reason, Refused, Stored
from overnight.shards.rewriter import Rewriter

_PROGRESSIVE = 0xC2
# The trainer's words for what it finds, as reasons of the quarantine; any other one is damage.
_REASONS: dict[str, tuple[Reason, str]] = {
    "decoders-disagree": (
        "decoders-disagree",
        "the trainer's decoder and libjpeg-turbo make different pictures of it, or rewriting would change it",
    ),
    "truncated": ("truncated", "libjpeg-turbo: the coded data end too early"),
    "too-large": ("too-large", "more pixels than the trainer reads"),
    "crashed": ("unreadable", "the process that rewrites pictures ended on it"),
    "timed-out": ("unreadable", "rewriting it takes too long"),
}


def marked(stored: Stored, rewriter: Rewriter) -> Stored | Refused:
    """`stored` with a restart marker after each row of units, in one sequential scan; the picture stays bit for bit.

    Pictures that have them already, and those that do not fit into one scan, come back as they are.
    """
    answer = rewriter.rewrite(stored.data)
    if answer.status == "unsupported" or answer.data == stored.data:
        return stored
    if answer.status != "ok":
        damage: tuple[Reason, str] = ("unreadable", f"the trainer's decoder calls it {answer.status}")
        return Refused(*_REASONS.get(answer.status, damage))
    words = ["baseline"] if jpeg.structure(stored.data).frame == _PROGRESSIVE else []
    notes = [stored.converted] if stored.converted else []
    return replace(stored, data=answer.data, converted=",".join([*notes, *words, "restart-markers"]))
