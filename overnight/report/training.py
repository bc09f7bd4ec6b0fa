"""How the training went: the curves, and the same numbers as a table."""

from dataclasses import dataclass

from overnight.report.charts import LineChart, Series, line_chart
from overnight.report.sources import Sources
from overnight.wording import compact, duration, percent


@dataclass(frozen=True)
class Training:
    """The curves of one run."""

    charts: tuple[LineChart, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """One an epoch, as text."""


COLUMNS = ("epoch", "step", "image size", "training loss", "validation loss", "accuracy", "balanced", "rate", "time")


def build_training(sources: Sources) -> Training | None:
    """Curves from metrics.json; None when the run wrote none or ended before the first epoch did."""
    epochs = sources.metrics["epochs"] if sources.metrics else []
    if not epochs:
        return None
    numbers = [int(epoch["epoch"]) for epoch in epochs]

    def validation(name: str) -> tuple[float | None, ...]:
        return tuple((epoch.get("validation") or {}).get(name) for epoch in epochs)

    charts = (
        line_chart(
            "Loss",
            numbers,
            [
                Series("training", tuple(epoch["train_loss"] for epoch in epochs)),
                Series("validation", validation("loss")),
            ],
        ),
        line_chart(
            "Validation accuracy",
            numbers,
            [Series("overall", validation("accuracy")), Series("balanced", validation("balanced_accuracy"))],
            shares=True,
        ),
        line_chart("Learning rate", numbers, [Series("learning rate", tuple(e["learning_rate"] for e in epochs))]),
    )
    rows = tuple(
        (
            str(epoch["epoch"]),
            f"{epoch['step']:,}",
            f"{epoch['size']} px",
            _number(epoch["train_loss"]),
            _number((epoch.get("validation") or {}).get("loss")),
            percent((epoch.get("validation") or {}).get("accuracy")),
            percent((epoch.get("validation") or {}).get("balanced_accuracy")),
            compact(epoch["learning_rate"]),
            duration(epoch["seconds"]),
        )
        for epoch in epochs
    )
    return Training(tuple(chart for chart in charts if chart is not None), COLUMNS, rows)


def _number(value: float | None) -> str:
    return "–" if value is None else compact(value)
