"""Bootstrap over groups: how far accuracy and recall could lie from what one test split shows.

Images of one group (variants, frames, one product's photographs) are right or wrong together, so the draws are of
whole groups (cluster bootstrap: Davison and Hinkley, "Bootstrap Methods and their Application", 3.8). All models are
counted on the same draws, which makes differences between them paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# Elements of the largest temporary array: 32 MB of float64.
BLOCK = 4_000_000


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence bounds."""

    value: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Tally:
    """Rows of a split summed into cells, one for each pair of a kind of group and a class, sorted by class.

    Groups with the same classes and the same answers are one kind. Drawing kinds with their multiplicity is the same
    as drawing groups, at a cost that hardly grows with the rows.
    """

    multiplicity: Integers
    """Groups of each kind."""
    kind: Integers
    """Cells: which kind of group."""
    class_starts: Integers
    """Cells: where each class begins."""
    rows: Floats
    """Cells: images in one group of the kind."""
    correct: Floats
    """(models, cells): how many of them each model gets right."""


@dataclass(frozen=True)
class Draws:
    """Counts of the split itself (row 0) and of every resampled split (rows 1…)."""

    support: Floats
    """(1 + samples, classes): images."""
    correct: Floats
    """(models, 1 + samples, classes): images that each model gets right."""

    def accuracy(self, model: int) -> Floats:
        """(1 + samples,): share of images that are right."""
        return np.asarray(self.correct[model].sum(axis=1) / self.support.sum(axis=1), dtype=np.float64)

    def recall(self, model: int) -> Floats:
        """(1 + samples, classes): share of each class's images that are right; NaN where a draw has none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.correct[model] / self.support, dtype=np.float64)

    def balanced_accuracy(self, model: int) -> Floats:
        """(1 + samples,): mean of the recalls of the classes that the draw holds."""
        return np.asarray(np.nanmean(self.recall(model), axis=1), dtype=np.float64)


def tally(groups: Integers, classes: Integers, correct: npt.NDArray[np.bool_], class_count: int) -> Tally:
    """Sum rows into cells.

    `groups` and `classes` are codes from 0, (rows,); every class occurs. `correct` is (models, rows).
    """
    models = correct.shape[0]
    # A row's answer: which class it is, and which of the models are right about it.
    pattern = classes.astype(np.uint64) << np.uint64(models)
    for model in range(models):
        pattern |= correct[model].astype(np.uint64) << np.uint64(model)
    kind_of_group, multiplicity, example = _kinds(groups, pattern)
    kept = np.isin(groups, example)
    cell = classes[kept] * len(multiplicity) + kind_of_group[groups[kept]]
    cells, cell_of_row = np.unique(cell, return_inverse=True)
    return Tally(
        multiplicity=multiplicity,
        kind=cells % len(multiplicity),
        class_starts=np.searchsorted(cells // len(multiplicity), np.arange(class_count)),
        rows=np.bincount(cell_of_row).astype(np.float64),
        correct=np.stack([np.bincount(cell_of_row, weights=correct[model][kept]) for model in range(models)]),
    )


def draw(counted: Tally, samples: int, seed: int) -> Draws:
    """Draw as many groups as there are, with replacement, `samples` times."""
    rng = np.random.default_rng(seed)
    groups = int(counted.multiplicity.sum())
    shares = counted.multiplicity / groups
    step = max(1, BLOCK // max(len(counted.rows), len(shares)))
    blocks = [_counts(counted, counted.multiplicity[np.newaxis, :])]
    for begin in range(0, samples, step):
        drawn = rng.multinomial(groups, shares, size=min(step, samples - begin))
        blocks.append(_counts(counted, drawn))
    return Draws(
        support=np.concatenate([block[0] for block in blocks]),
        correct=np.concatenate([block[1] for block in blocks], axis=1),
    )


def interval(values: Floats, confidence: float) -> Interval:
    """The estimate `values[0]` with the percentile interval of the other values; draws that are NaN do not count."""
    tail = (1.0 - confidence) / 2.0
    drawn = values[1:][~np.isnan(values[1:])]
    if len(drawn) == 0:
        return Interval(float(values[0]), float("nan"), float("nan"))
    lower, upper = np.quantile(drawn, (tail, 1.0 - tail))
    return Interval(float(values[0]), float(lower), float(upper))


def codes(names: Sequence[str] | npt.NDArray[np.str_]) -> tuple[npt.NDArray[np.str_], Integers]:
    """The distinct names, sorted, and each name's place among them."""
    distinct, places = np.unique(np.asarray(names, dtype=np.str_), return_inverse=True)
    return distinct, places.astype(np.int64)


def _kinds(groups: Integers, pattern: npt.NDArray[np.uint64]) -> tuple[Integers, Integers, Integers]:
    """Kind of each group, groups of each kind, and one group as the example of each kind.

    Two groups are of one kind when their rows' patterns are equal as multisets, told by a 64-bit sum of mixed
    patterns: the chance that any two of a million different groups agree is below one in ten million.
    """
    mixed = _mix(pattern)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    signature = np.add.reduceat(mixed[order], starts)
    _, example, kind, multiplicity = np.unique(signature, return_index=True, return_inverse=True, return_counts=True)
    return kind.astype(np.int64), multiplicity.astype(np.int64), example.astype(np.int64)


def _mix(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """SplitMix64's output function (Steele, Lea and Flood, 2014): equal inputs stay equal, others scatter."""
    with np.errstate(over="ignore"):
        mixed = values + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)


def _counts(counted: Tally, drawn: Integers) -> tuple[Floats, Floats]:
    """Support (draws, classes) and correct (models, draws, classes) of groups drawn `drawn` (draws, kinds) times."""
    times = drawn[:, counted.kind].astype(np.float64)
    support = np.add.reduceat(times * counted.rows, counted.class_starts, axis=1)
    correct = [np.add.reduceat(times * right, counted.class_starts, axis=1) for right in counted.correct]
    return support, np.stack(correct)
