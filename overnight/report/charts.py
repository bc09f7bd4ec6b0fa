"""Geometry of line charts: values to SVG coordinates, and axes that end on round numbers. No drawing here."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from overnight.wording import compact, percent

WIDTH = 360
HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 30
MAX_TICKS = 6
MAX_DOTS = 30


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis, in SVG units."""

    position: float
    label: str


@dataclass(frozen=True)
class Series:
    """A named line."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Mark:
    """One point of a line and what it says."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Line:
    """A line as an SVG path, its points, and where its name stands."""

    name: str
    path: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class LineChart:
    """Everything a template needs to draw one chart."""

    title: str
    summary: str
    """What the chart shows, in words."""
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def round_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that divides `span` > 0 into at most `most` parts."""
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= raw * (1 - 1e-9))


def round_axis(lowest: float, highest: float, most: int = MAX_TICKS) -> tuple[float, ...]:
    """Round numbers from at most `lowest` to at least `highest`, evenly spaced."""
    if highest - lowest < 1e-12:
        lowest, highest = lowest - 0.5 * abs(lowest) - 1e-6, highest + 0.5 * abs(highest) + 1e-6
    step = round_step(highest - lowest, most - 1)
    first = math.floor(lowest / step + 1e-9)
    last = math.ceil(highest / step - 1e-9)
    return tuple(round(i * step, 12) + 0.0 for i in range(first, last + 1))


def line_chart(
    title: str, epochs: Sequence[int], series: Sequence[Series], *, shares: bool = False
) -> LineChart | None:
    """Lines over epochs; None when no series has a value. `shares` labels the axis in percent."""
    known = [value for line in series for value in line.values if value is not None and math.isfinite(value)]
    if not known or not epochs:
        return None
    axis = round_axis(min(0.0, *known) if not shares else min(known), max(known))
    label = (lambda value: percent(value, 0)) if shares else compact

    def x(epoch: float) -> float:
        span = max(1, epochs[-1] - epochs[0])
        return round(LEFT + (epoch - epochs[0]) / span * (WIDTH - RIGHT - LEFT), 2)

    def y(value: float) -> float:
        return round(TOP + (axis[-1] - value) / (axis[-1] - axis[0]) * (HEIGHT - BOTTOM - TOP), 2)

    lines = []
    for line in series:
        pairs = [
            (epoch, value)
            for epoch, value in zip(epochs, line.values, strict=True)
            if value is not None and math.isfinite(value)
        ]
        marks = tuple(
            Mark(x(epoch), y(value), f"{line.name}, epoch {epoch}: {_exact(value, shares)}") for epoch, value in pairs
        )
        path = "M" + "L".join(f"{mark.x} {mark.y}" for mark in marks) if marks else ""
        lines.append(Line(line.name, path, marks if len(marks) <= MAX_DOTS else marks[-1:]))
    return LineChart(
        title=title,
        summary=_summary(title, epochs, series, shares),
        lines=tuple(lines),
        x_ticks=tuple(Tick(x(epoch), str(epoch)) for epoch in _whole_ticks(epochs)),
        y_ticks=tuple(Tick(y(value), label(value)) for value in axis),
    )


def _whole_ticks(epochs: Sequence[int]) -> list[int]:
    step = max(1, math.ceil(round_step(max(1, epochs[-1] - epochs[0]), MAX_TICKS)))
    return [epoch for epoch in range(epochs[0], epochs[-1] + 1) if (epoch - epochs[0]) % step == 0]


def _exact(value: float, shares: bool) -> str:
    return percent(value) if shares else compact(value)


def _summary(title: str, epochs: Sequence[int], series: Sequence[Series], shares: bool) -> str:
    parts = []
    for line in series:
        known = [value for value in line.values if value is not None and math.isfinite(value)]
        if known:
            parts.append(f"{line.name} from {_exact(known[0], shares)} to {_exact(known[-1], shares)}")
    return f"{title} over epochs {epochs[0]} to {epochs[-1]}: {'; '.join(parts)}"
