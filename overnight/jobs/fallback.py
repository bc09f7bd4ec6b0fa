"""What to do when a job found no machines, lost them, or failed: a pure function of what has happened so far.

Machines that are missing and code that fails have budgets of their own: a night on Spot may lose its machines six
times and still be worth a seventh try, a program that fails will most likely fail again. What is configured wrongly
is never tried twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from overnight.jobs.explain import Kind


@dataclass(frozen=True)
class Budgets:
    """How often a run is started once more."""

    capacity: int = 6
    """Because machines were missing or the service lost them."""
    code: int = 0
    """Because the program failed; the service itself has started it again several times by then."""


@dataclass(frozen=True)
class Outcome:
    """How one start ended."""

    fallback: int
    retry: int
    kind: Kind


@dataclass(frozen=True)
class Start:
    """Start this next."""

    fallback: int
    """0: the job as the spec has it; n: with the nth fallback."""
    retry: int
    """How often the same was started before."""


@dataclass(frozen=True)
class GiveUp:
    """Start nothing more."""

    reason: str


_FIRST = Start(0, 0)
_CAPACITY: tuple[Kind, ...] = ("stockout", "internal")
_FINAL: dict[Kind, str] = {
    "quota": "the project's quota does not allow it, and no other start would change that",
    "configuration": "something is configured wrongly, and would be in every other start",
    "passing": "Vertex AI could not be reached; submit again with the same --run-id later",
}


def next_step(
    outcomes: Sequence[Outcome], choices: int, budgets: Budgets, seconds_left: float | None = None
) -> Start | GiveUp:
    """What follows `outcomes`, in order, of a job with `choices` ways to run: its own and its fallbacks.

    `seconds_left` until the deadline; None without one.
    """
    if not outcomes:
        return _FIRST
    last = outcomes[-1]
    if last.kind in _FINAL:
        return GiveUp(_FINAL[last.kind])
    if seconds_left is not None and seconds_left <= 0:
        return GiveUp("the deadline has passed")
    if last.kind == "code":
        spent = sum(outcome.kind == "code" for outcome in outcomes)
        return _again(outcomes) if spent <= budgets.code else GiveUp(_spent("failing code", budgets.code))
    if sum(outcome.kind in _CAPACITY for outcome in outcomes) > budgets.capacity:
        return GiveUp(_spent("lost machines", budgets.capacity))
    if last.kind == "internal":
        return _again(outcomes)
    if last.fallback + 1 < choices:
        return Start(last.fallback + 1, 0)
    none = "no fallback is left" if choices > 1 else "the spec has no overnight.fallbacks"
    return GiveUp(f"there are no machines, and {none}")


def _again(outcomes: Sequence[Outcome]) -> Start:
    last = outcomes[-1]
    return Start(last.fallback, last.retry + 1)


def _spent(what: str, budget: int) -> str:
    times = "no start is" if budget == 0 else "no more starts are"
    return f"the budget for {what} is {budget}, so {times} left"
