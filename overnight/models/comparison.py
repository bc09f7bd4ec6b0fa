"""Challenger, champion and baselines on the same images: the numbers that the gate judges and the report shows."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from overnight.models.predictions import Predictions, require_same_images
from overnight.models.resampling import Draws, Interval, codes, draw, interval, tally


@dataclass(frozen=True)
class Score:
    """How good one model is, as shares from 0 to 1."""

    accuracy: Interval
    balanced_accuracy: Interval


@dataclass(frozen=True)
class Opponent:
    """A model that the challenger is compared with, and the challenger's lead over it (paired: on the same draws)."""

    score: Score
    lead: Interval
    """Challenger's accuracy minus this model's."""
    balanced_lead: Interval


@dataclass(frozen=True)
class ClassScore:
    """One class of the split."""

    name: str
    support: int
    """Images of the class."""
    recall: Interval
    """The challenger's."""
    champion_recall: Interval | None
    difference: Interval | None
    """Challenger's recall minus the champion's, paired."""
    known: bool
    """Whether the challenger can answer this class at all."""
    known_to_champion: bool


@dataclass(frozen=True)
class Comparison:
    """Everything measured on one split of one snapshot."""

    split: str
    snapshot_sha256: str
    images: int
    groups: int
    challenger: Score
    champion: Opponent | None
    majority: Opponent
    pixel_linear: Opponent
    classes: tuple[ClassScore, ...]
    new_classes: tuple[str, ...]
    """The challenger knows them, the champion does not."""
    vanished_classes: tuple[str, ...]
    """The champion knows them, the challenger does not."""


def compare(
    challenger: Predictions,
    champion: Predictions | None,
    majority: Predictions,
    pixel_linear: Predictions,
    *,
    confidence: float,
    samples: int,
    seed: int,
) -> Comparison:
    """Measure all models with bootstrap intervals at `confidence` from `samples` draws of whole groups.

    Raises PredictionsError when the predictions are not of the same images.
    """
    named = [("the challenger", challenger), ("the majority class", majority), ("the pixel-linear model", pixel_linear)]
    if champion is not None:
        named.append(("the champion", champion))
    require_same_images(named)
    classes, class_codes = codes(challenger.labels)
    groups, group_codes = codes(challenger.groups)
    correct = np.stack([model.predicted == challenger.labels for _, model in named])
    draws = draw(tally(group_codes, class_codes, correct, len(classes)), samples, seed)
    return Comparison(
        split=challenger.split,
        snapshot_sha256=challenger.snapshot_sha256,
        images=len(challenger),
        groups=len(groups),
        challenger=_score(draws, 0, confidence),
        champion=_opponent(draws, 3, confidence) if champion is not None else None,
        majority=_opponent(draws, 1, confidence),
        pixel_linear=_opponent(draws, 2, confidence),
        classes=_classes(draws, classes, challenger, champion, confidence),
        new_classes=_only_in(challenger, champion),
        vanished_classes=_only_in(champion, challenger),
    )


def _score(draws: Draws, model: int, confidence: float) -> Score:
    return Score(
        accuracy=interval(draws.accuracy(model), confidence),
        balanced_accuracy=interval(draws.balanced_accuracy(model), confidence),
    )


def _opponent(draws: Draws, model: int, confidence: float) -> Opponent:
    return Opponent(
        score=_score(draws, model, confidence),
        lead=interval(draws.accuracy(0) - draws.accuracy(model), confidence),
        balanced_lead=interval(draws.balanced_accuracy(0) - draws.balanced_accuracy(model), confidence),
    )


def _classes(
    draws: Draws,
    names: npt.NDArray[np.str_],
    challenger: Predictions,
    champion: Predictions | None,
    confidence: float,
) -> tuple[ClassScore, ...]:
    recall = draws.recall(0)
    before = draws.recall(3) if champion is not None else None
    return tuple(
        ClassScore(
            name=str(name),
            support=int(draws.support[0, i]),
            recall=interval(recall[:, i], confidence),
            champion_recall=interval(before[:, i], confidence) if before is not None else None,
            difference=interval(recall[:, i] - before[:, i], confidence) if before is not None else None,
            known=str(name) in challenger.classes,
            known_to_champion=champion is not None and str(name) in champion.classes,
        )
        for i, name in enumerate(names)
    )


def _only_in(one: Predictions | None, other: Predictions | None) -> tuple[str, ...]:
    if one is None or other is None:
        return ()
    return tuple(sorted(set(one.classes) - set(other.classes)))
