"""First what everybody asks: how good is it, was it promoted, and why."""

from dataclasses import dataclass
from typing import Any, Literal

from overnight.report.charts import Tick, round_axis
from overnight.report.sources import Json, Sources
from overnight.wording import percent, points


@dataclass(frozen=True)
class Strip:
    """One model on the accuracy axis; all places in percent of the axis' length."""

    name: str
    value: float
    lower: float
    upper: float
    text: str
    lead: str
    """The challenger's lead over this model, in points; empty for the challenger itself."""
    role: Literal["challenger", "champion", "baseline"]


@dataclass(frozen=True)
class Rule:
    """A criterion of the gate."""

    name: str
    passed: bool
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """The head of the report."""

    state: Literal["promoted", "refused", "failed", "unjudged"]
    headline: str
    reason: str
    accuracy: str
    accuracy_note: str
    strips: tuple[Strip, ...] = ()
    ticks: tuple[Tick, ...] = ()
    rules: tuple[Rule, ...] = ()
    notes: tuple[str, ...] = ()


def build_verdict(sources: Sources) -> Verdict:
    """The gate's verdict; before the gate, what the training measured; for a failed run, how it ended."""
    if sources.run["status"] != "succeeded":
        ending = sources.run.get("verdict") or "The run left no model."
        return Verdict("failed", f"The run {_ended(sources.run['status'])}", ending, "No model", "nothing to measure")
    if sources.gate is None:
        return _unjudged(sources)
    return _judged(sources.gate)


def _ended(status: str) -> str:
    return {"failed": "failed", "cancelled": "was cancelled"}.get(status, f"ended as {status}")


def _unjudged(sources: Sources) -> Verdict:
    reason = f"No gate has judged this run yet: overnight model promote {sources.run['run_id']}"
    if sources.metrics is None:
        return Verdict("unjudged", "Not judged yet", reason, "Unknown", "this run wrote no metrics.json")
    final = sources.metrics["final"]
    note = f"accuracy on {final['samples']:,} {final['split']} images, measured by the training itself"
    return Verdict("unjudged", "Not judged yet", reason, percent(final["accuracy"]), note)


def _judged(gate: Json) -> Verdict:
    measured = gate["comparison"]
    accuracy = measured["challenger"]["accuracy"]
    bounds = f"{100 * accuracy['lower']:.1f} to {percent(accuracy['upper'])}"
    confidence = percent(gate["rules"]["confidence"], 0)
    champion = (
        f"the champion was version {gate['champion_before']}" if gate["champion_before"] else "the first champion"
    )
    version = f"{gate['model']}, version {gate['version']}"
    headline = {"promoted": f"Promoted: {version}", "refused": f"Refused: {version}"}[gate["decision"]]
    strips, ticks = _strips(gate)
    return Verdict(
        state=gate["decision"],
        headline=headline if gate["decision"] == "refused" or gate["champion_before"] else f"{headline}, {champion}",
        reason=f"{gate['reason'][0].upper()}{gate['reason'][1:]}.",
        accuracy=percent(accuracy["value"]),
        accuracy_note=f"accuracy, {bounds} with {confidence} confidence, on {measured['images']:,} {measured['split']} "
        f"images in {measured['groups']:,} groups that training never saw",
        strips=strips,
        ticks=ticks,
        rules=tuple(Rule(**criterion) for criterion in gate["criteria"]),
        notes=tuple(gate["notes"]),
    )


def _strips(gate: Json) -> tuple[tuple[Strip, ...], tuple[Tick, ...]]:
    measured = gate["comparison"]
    rows: list[tuple[str, Json, Json | None, Any]] = [
        (f"this run (version {gate['version']})", measured["challenger"]["accuracy"], None, "challenger")
    ]
    if measured["champion"]:
        champion = measured["champion"]
        name = f"champion (version {gate['champion_before']})"
        rows.append((name, champion["score"]["accuracy"], champion["lead"], "champion"))
    for name, key in (("linear model on pixels", "pixel_linear"), ("majority class", "majority")):
        rows.append((name, measured[key]["score"]["accuracy"], measured[key]["lead"], "baseline"))
    bounds = [value for _, found, _, _ in rows for value in (found["lower"], found["upper"], found["value"])]
    axis = round_axis(max(0.0, min(bounds) - 0.02), min(1.0, max(bounds) + 0.02))

    def place(value: float) -> float:
        return round(100 * (value - axis[0]) / (axis[-1] - axis[0]), 2)

    strips = tuple(
        Strip(
            name=name,
            value=place(found["value"]),
            lower=place(found["lower"]),
            upper=place(found["upper"]),
            text=f"{percent(found['value'])} ({100 * found['lower']:.1f}–{100 * found['upper']:.1f})",
            lead=f"{points(lead['value'])} ({points(lead['lower'])} to {points(lead['upper'])})" if lead else "",
            role=role,
        )
        for name, found, lead, role in rows
    )
    return strips, tuple(Tick(place(value), percent(value, 0)) for value in axis)
