"""The bars: what a run must show, in one table.

"peer" is always the fastest peer of the same run on the same corpus, in CPU time, whatever its quality.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Bar:
    """`what` measured on `corpus` ("" where it has none) must be at least, or at most, `limit`.

    `stretch` is the goal beyond it, which fails nothing.
    """

    what: str
    corpus: str
    kind: Literal["least", "most"]
    limit: float
    unit: str
    stretch: float | None = None

    @property
    def name(self) -> str:
        """As the summary says it."""
        return f"{self.what} on {self.corpus}" if self.corpus else self.what

    def holds(self, value: float) -> bool:
        """Whether a measured value is good enough."""
        return value >= self.limit if self.kind == "least" else value <= self.limit


PEER = "times the fastest peer"
CLASSIC = "times the classic recipe"
FLOOR = "of the entropy floor"
FAST = "difference of samples"
EXACT = "difference of exact samples, worst corpus"
RESTART_GAIN = "gain by restart markers"
RESTART_BYTES = "bytes of restart markers"
LOADER = "times the fastest loader"
SECOND_THREAD = "second thread"
MEMORY = "memory at batch 64"

BARS = (
    Bar(PEER, "s", "least", 2.5, "x", stretch=3.0),
    Bar(PEER, "l", "least", 2.5, "x", stretch=3.0),
    Bar(CLASSIC, "s", "least", 4.0, "x"),
    Bar(CLASSIC, "l", "least", 4.0, "x"),
    Bar(FLOOR, "s", "most", 1.8, "x"),
    Bar(FLOOR, "i", "most", 1.5, "x", stretch=1.2),
    Bar(FLOOR, "l", "most", 1.5, "x", stretch=1.2),
    Bar(FAST, "s", "most", 0.4, "of 255"),
    Bar(FAST, "h", "most", 0.4, "of 255"),
    Bar(FAST, "i", "most", 0.4, "of 255"),
    Bar(FAST, "l", "most", 0.5, "of 255"),  # DCT scaling
    Bar(EXACT, "", "most", 0.02, "of 255"),
    Bar(RESTART_GAIN, "i", "least", 1.15, "x"),
    Bar(RESTART_BYTES, "i", "most", 0.2, "%"),
    Bar(LOADER, "", "least", 3.0, "x"),
    Bar(SECOND_THREAD, "", "least", 1.85, "x"),
    Bar(MEMORY, "", "most", 300.0, "MB"),
)


@dataclass(frozen=True)
class Verdict:
    """A bar and what was measured; None: it could not be measured in this run."""

    bar: Bar
    value: float | None

    @property
    def missed(self) -> bool:
        """Whether it was measured and does not hold."""
        return self.value is not None and not self.bar.holds(self.value)

    @property
    def sentence(self) -> str:
        """`times the fastest peer on s: 2.41 x, at least 2.5 wanted`."""
        wanted = f"at {self.bar.kind} {self.bar.limit:g} wanted"
        value = "not measured" if self.value is None else f"{self.value:.3g} {self.bar.unit}"
        return f"{self.bar.name}: {value}, {wanted}"


def judge(measured: dict[tuple[str, str], float]) -> list[Verdict]:
    """All bars against what was measured, by (what, corpus)."""
    return [Verdict(bar, measured.get((bar.what, bar.corpus))) for bar in BARS]
