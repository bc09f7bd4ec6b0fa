"""How good predictions are: pure functions of logits and true classes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]

CALIBRATION_BINS = 15


@dataclass(frozen=True)
class Metrics:
    """What a split's predictions show; `confusion` [truth, prediction] in class order."""

    samples: int
    loss: float
    accuracy: float
    balanced_accuracy: float
    expected_calibration_error: float
    calibration: list[dict[str, float]]
    recall: list[float | None]
    precision: list[float | None]
    confusion: list[list[int]]

    def summary(self) -> dict[str, float]:
        """The three numbers that are followed from epoch to epoch."""
        return {"loss": self.loss, "accuracy": self.accuracy, "balanced_accuracy": self.balanced_accuracy}


def softmax(logits: Floats) -> NDArray[np.float64]:
    """Probabilities [n, classes] in float64."""
    shifted = logits.astype(np.float64)
    shifted = shifted - shifted.max(axis=1, keepdims=True)
    powers = np.exp(shifted)
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def measure(logits: Floats, class_ids: Ints) -> Metrics:
    """All metrics of `logits` [n, classes] against `class_ids` [n].

    Balanced accuracy is the mean recall of the classes that occur. A class that never occurs has
    recall None, one that is never predicted precision None.
    """
    classes = logits.shape[1]
    probabilities = softmax(logits)
    predicted = probabilities.argmax(axis=1)
    confusion = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(confusion, (class_ids, predicted), 1)
    hits, support, named = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    recall = [float(h / s) if s else None for h, s in zip(hits, support, strict=True)]
    truth = probabilities[np.arange(len(class_ids)), class_ids]
    bins = calibration(probabilities.max(axis=1), predicted == class_ids)
    return Metrics(
        samples=len(class_ids),
        loss=float(-np.log(np.maximum(truth, 1e-300)).mean()),
        accuracy=float((predicted == class_ids).mean()),
        balanced_accuracy=float(np.mean([value for value in recall if value is not None])),
        expected_calibration_error=calibration_error(bins),
        calibration=bins,
        recall=recall,
        precision=[float(h / n) if n else None for h, n in zip(hits, named, strict=True)],
        confusion=confusion.tolist(),
    )


def calibration(confidence: Floats, correct: NDArray[np.bool_], bins: int = CALIBRATION_BINS) -> list[dict[str, float]]:
    """Equal-width bins of confidence: how many samples, how sure they were, how often they were right."""
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    table = []
    for index in range(bins):
        inside = place == index
        count = int(inside.sum())
        table.append(
            {
                "lower": index / bins,
                "upper": (index + 1) / bins,
                "count": count,
                "confidence": float(confidence[inside].mean()) if count else 0.0,
                "accuracy": float(correct[inside].mean()) if count else 0.0,
            }
        )
    return table


def calibration_error(bins: list[dict[str, float]]) -> float:
    """Expected calibration error (Guo et al. 2017): mean gap of confidence and accuracy, weighted by count."""
    total = sum(row["count"] for row in bins)
    return sum(row["count"] * abs(row["confidence"] - row["accuracy"]) for row in bins) / total if total else 0.0


def final_table(metrics: Metrics, classes: tuple[str, ...], split: str) -> dict[str, Any]:
    """`final` of metrics.json (docs/formats.md)."""
    support = [sum(row) for row in metrics.confusion]
    return {
        "split": split,
        "samples": metrics.samples,
        **metrics.summary(),
        "expected_calibration_error": metrics.expected_calibration_error,
        "calibration": metrics.calibration,
        "per_class": [
            {"class": name, "support": count, "recall": recall, "precision": precision}
            for name, count, recall, precision in zip(classes, support, metrics.recall, metrics.precision, strict=True)
        ],
        "confusion": metrics.confusion,
    }
