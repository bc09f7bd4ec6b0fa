"""Where the model is right and where it is wrong: recall by class, confusions, calibration."""

from dataclasses import dataclass

from overnight.report.sources import Json, Sources
from overnight.wording import percent, points

# A larger table is not read; the confusions by name are.
MAX_MATRIX = 30
MAX_CONFUSIONS = 10
MAX_CLASSES = 40


@dataclass(frozen=True)
class ClassRow:
    """One class; shares in percent, for drawing, next to their texts."""

    name: str
    support: int
    recall: float
    recall_text: str
    lower: float | None
    upper: float | None
    champion: float | None
    champion_text: str
    difference: str
    precision: str


@dataclass(frozen=True)
class Cell:
    """A cell of the confusion matrix."""

    count: int
    share: float
    """Of the row, 0 to 1."""
    right: bool


@dataclass(frozen=True)
class Confusion:
    """Images of one class taken for another."""

    truth: str
    predicted: str
    count: int
    share: str
    """Of the images of the true class."""


@dataclass(frozen=True)
class Bin:
    """Answers of one range of confidence."""

    lower: float
    upper: float
    count: int
    confidence: float
    accuracy: float
    weight: float
    """Share of all answers, 0 to 1."""


@dataclass(frozen=True)
class Classes:
    """Recall by class on the split named `recall_split`; confusions and calibration on `split`."""

    recall_split: str
    compared: bool
    """Whether a champion was measured on the same images."""
    rows: tuple[ClassRow, ...]
    more_rows: tuple[ClassRow, ...]
    split: str
    samples: int
    names: tuple[str, ...]
    matrix: tuple[tuple[Cell, ...], ...]
    """Empty where there are too many classes."""
    confusions: tuple[Confusion, ...]
    bins: tuple[Bin, ...]
    calibration_error: str


def build_classes(sources: Sources) -> Classes | None:
    """Recall from the gate where it judged, else from the training's own validation; None without metrics.json."""
    if sources.metrics is None:
        return None
    final = sources.metrics["final"]
    precision = {entry["class"]: entry["precision"] for entry in final["per_class"]}
    if sources.gate is not None:
        rows = [_judged(entry, precision) for entry in sources.gate["comparison"]["classes"]]
    else:
        rows = [_own(entry) for entry in final["per_class"]]
    if len(rows) > MAX_CLASSES:
        rows.sort(key=lambda row: (row.recall, row.name))
    names = tuple(entry["class"] for entry in final["per_class"])
    matrix = _matrix(final["confusion"])
    return Classes(
        recall_split=sources.gate["comparison"]["split"] if sources.gate else final["split"],
        compared=any(row.champion is not None for row in rows),
        rows=tuple(rows[:MAX_CLASSES]),
        more_rows=tuple(rows[MAX_CLASSES:]),
        split=final["split"],
        samples=final["samples"],
        names=names,
        matrix=matrix if len(names) <= MAX_MATRIX else (),
        confusions=_confusions(names, final["confusion"]),
        bins=_bins(final["calibration"]),
        calibration_error=percent(final["expected_calibration_error"]),
    )


def _judged(entry: Json, precision: dict[str, float | None]) -> ClassRow:
    recall, champion, difference = entry["recall"], entry["champion_recall"], entry["difference"]
    return ClassRow(
        name=entry["name"],
        support=entry["support"],
        recall=_hundred(recall["value"]) or 0.0,
        recall_text=percent(recall["value"]),
        lower=_hundred(recall["lower"]),
        upper=_hundred(recall["upper"]),
        champion=_hundred(champion["value"]) if champion else None,
        champion_text=percent(champion["value"]) if champion else "–",
        difference=points(difference["value"]) if difference else "–",
        precision=percent(precision.get(entry["name"])),
    )


def _own(entry: Json) -> ClassRow:
    return ClassRow(
        name=entry["class"],
        support=entry["support"],
        recall=_hundred(entry["recall"]) or 0.0,
        recall_text=percent(entry["recall"]),
        lower=None,
        upper=None,
        champion=None,
        champion_text="–",
        difference="–",
        precision=percent(entry["precision"]),
    )


def _hundred(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 2)


def _matrix(confusion: list[list[int]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        tuple(Cell(count, round(count / max(1, sum(row)), 4), i == j) for j, count in enumerate(row))
        for i, row in enumerate(confusion)
    )


def _confusions(names: tuple[str, ...], confusion: list[list[int]]) -> tuple[Confusion, ...]:
    found = [
        Confusion(names[i], names[j], count, percent(count / sum(row), 0))
        for i, row in enumerate(confusion)
        for j, count in enumerate(row)
        if i != j and count
    ]
    return tuple(sorted(found, key=lambda entry: (-entry.count, entry.truth, entry.predicted))[:MAX_CONFUSIONS])


def _bins(calibration: list[Json]) -> tuple[Bin, ...]:
    total = max(1, sum(entry["count"] for entry in calibration))
    return tuple(
        Bin(
            lower=entry["lower"],
            upper=entry["upper"],
            count=entry["count"],
            confidence=entry["confidence"],
            accuracy=entry["accuracy"],
            weight=round(entry["count"] / total, 4),
        )
        for entry in calibration
        if entry["count"]
    )
